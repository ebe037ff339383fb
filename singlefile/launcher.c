/* The single file begins here: unpack the server once into a cache, and become it.
 *
 * The file is this program and, behind it, the archive that build.py appends:
 *
 *     zlib stream of all contents | index | trailer
 *     index:   "KIND MODE SIZE PATH\n" for each file; KIND is f, or l for a link, whose content is
 *              what it leads to
 *     trailer: "kubetrio1 KEY OFFSET PACKED INDEX\n", numbers of 20 digits
 *
 * KEY is a hash of what is packed, and the name of the directory in the cache.  A directory counts
 * when each file of the index is there in its size; it takes its name when it is complete, so
 * several starts at a time are fine.  A process holds a shared lock on its directory for as long as
 * it runs, which keeps systemd-tmpfiles away; directories of other versions that nobody holds are
 * removed when a new one is unpacked.
 *
 * A cache has to be this user's alone: what is executed from it must be what was put there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC "kubetrio1 "
#define KEY 32
#define TRAILER (sizeof MAGIC - 1 + KEY + 1 + 20 + 1 + 20 + 1 + 20 + 1)
#define PROGRAM "kubetrio"

static int self;
static char key[KEY + 1], *listed;
static long long begin, packed, listed_size;
static char why[PATH_MAX + 200] = "no place is named";

static int fail(const char *what, const char *path) {
    snprintf(why, sizeof why, "%s %s: %s", what, path, strerror(errno));
    return -1;
}

static void open_self(void) {
    char trailer[TRAILER + 1] = {0};
    off_t size;
    self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    size = self < 0 ? -1 : lseek(self, 0, SEEK_END);
    if (size < (off_t)TRAILER || pread(self, trailer, TRAILER, size - TRAILER) != TRAILER ||
        sscanf(trailer, MAGIC "%32s %lld %lld %lld", key, &begin, &packed, &listed_size) != 4 ||
        strlen(key) != KEY || !(listed = malloc(listed_size + 1)) ||
        pread(self, listed, listed_size, begin + packed) != listed_size) {
        fprintf(stderr, "kubetrio: this file is not whole, or /proc is not there\n");
        exit(1);
    }
    listed[listed_size] = 0;
}

/* The next line of the index; 0 at its end. */
static int next(const char **at, char *kind, unsigned *mode, long long *size, char *path) {
    int used = 0;
    if (sscanf(*at, "%c %o %lld %4095[^\n]%n", kind, mode, size, path, &used) != 4) return 0;
    *at += used + 1;
    return 1;
}

static int whole(const char *dir) {
    const char *at = listed;
    char kind, name[PATH_MAX], path[PATH_MAX * 2];
    unsigned mode;
    long long size;
    struct stat found;
    while (next(&at, &kind, &mode, &size, name)) {
        snprintf(path, sizeof path, "%s/%s", dir, name);
        if (lstat(path, &found) || found.st_size != size) return 0;
    }
    return 1;
}

static int drop(const char *path, const struct stat *s, int flag, struct FTW *f) {
    (void)s, (void)flag, (void)f;
    return remove(path), 0;
}

static void drop_all(const char *dir) { nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS); }

/* Make the directories above a path. */
static int parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int bad = mkdir(path, 0700) && errno != EEXIST;
        *slash = '/';
        if (bad) return fail("cannot make", path);
    }
    return 0;
}

static int unpack(const char *dir) {
    static unsigned char in[1 << 18], out[1 << 18];
    const char *at = listed;
    char kind, name[PATH_MAX], path[PATH_MAX * 2], target[PATH_MAX];
    unsigned mode;
    long long size, read_at = begin, end = begin + packed;
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK) return -1;
    while (next(&at, &kind, &mode, &size, name)) {
        int fd = -1;
        snprintf(path, sizeof path, "%s/%s", dir, name);
        if (parents(path)) return -1;
        if (kind == 'f') fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (kind == 'f' ? fd < 0 : size >= PATH_MAX) return fail("cannot write", path);
        for (long long left = size; left;) {
            z.next_out = out;
            z.avail_out = left < (long long)sizeof out ? left : sizeof out;
            if (!z.avail_in) {
                long long most = end - read_at;
                ssize_t got = pread(self, in, most < (long long)sizeof in ? most : sizeof in, read_at);
                if (got <= 0) return errno = EIO, fail("cannot read", "the archive");
                read_at += got, z.next_in = in, z.avail_in = got;
            }
            int code = inflate(&z, Z_NO_FLUSH);
            if (code != Z_OK && code != Z_STREAM_END) return errno = EIO, fail("cannot unpack", path);
            ssize_t made = z.next_out - out;
            if (kind == 'l') memcpy(target + (size - left), out, made);
            else if (write(fd, out, made) != made) return fail("cannot write", path);
            left -= made;
        }
        if (kind == 'l') {
            target[size] = 0;
            if (symlink(target, path)) return fail("cannot write", path);
        } else if (close(fd)) return fail("cannot write", path);
    }
    inflateEnd(&z);
    return 0;
}

/* Remove other versions that nobody runs. */
static void sweep(const char *cache) {
    DIR *all = opendir(cache);
    struct dirent *one;
    char path[PATH_MAX];
    while (all && (one = readdir(all))) {
        if (strlen(one->d_name) != KEY || strspn(one->d_name, "0123456789abcdef") != KEY ||
            !strcmp(one->d_name, key))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", cache, one->d_name) >= (int)sizeof path) continue;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) drop_all(path);
        if (fd >= 0) close(fd);
    }
    if (all) closedir(all);
}

static int ours(const char *cache) {
    struct stat found;
    if (lstat(cache, &found)) return fail("cannot use", cache);
    if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || found.st_mode & 022) {
        snprintf(why, sizeof why, "%s is not a directory of this user alone", cache);
        return -1;
    }
    return 0;
}

/* Become the server, unpacked in a cache; returns where that cannot be. */
static void run_in(const char *cache, char **argv) {
    char dir[PATH_MAX], fresh[PATH_MAX], program[PATH_MAX + 20];
    snprintf(program, sizeof program, "%s/", cache);
    if (strlen(cache) > PATH_MAX - 100 || parents(program) || ours(cache)) return;
    snprintf(dir, sizeof dir, "%s/%s", cache, key);
    for (int tries = 0; tries < 3; tries++) {
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (fd >= 0 && !flock(fd, LOCK_SH) && whole(dir)) {
            /* PyInstaller's program needs zlib before it can say where its libraries are. */
            snprintf(program, sizeof program, "%s/_internal", dir);
            if (setenv("LD_LIBRARY_PATH", program, 1)) return (void)fail("cannot set", program);
            snprintf(program, sizeof program, "%s/" PROGRAM, dir);
            execv(program, argv);  /* the lock stays with what it becomes */
            fail("cannot run", program);
            close(fd);
            return;
        }
        if (fd >= 0) close(fd);
        snprintf(fresh, sizeof fresh, "%s/new-%ld", cache, (long)getpid());
        drop_all(fresh);
        if (mkdir(fresh, 0700)) {
            fail("cannot make", fresh);
            return;
        }
        if (unpack(fresh)) {
            drop_all(fresh);
            return;
        }
        if (rename(fresh, dir)) {  /* another start was first, or files are missing */
            if (!whole(dir)) drop_all(dir);
            if (rename(fresh, dir)) drop_all(fresh);
        }
        sweep(cache);
    }
}

int main(int argc, char **argv) {
    static const char *const forms[][2] = {
        {"KUBETRIO_CACHE", ""},   {"CACHE_DIRECTORY", ""},  {"XDG_CACHE_HOME", "/kubetrio"},
        {"HOME", "/.cache/kubetrio"}, {NULL, "/var/tmp/kubetrio-%u"}, {NULL, "/tmp/kubetrio-%u"},
    };
    char cache[PATH_MAX];
    (void)argc;
    open_self();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *name = forms[i][0], *value = name ? getenv(name) : NULL;
        if (name && (!value || *value != '/')) continue;
        if (name) snprintf(cache, sizeof cache, "%.*s%s", PATH_MAX - 200, value, forms[i][1]);
        else snprintf(cache, sizeof cache, forms[i][1], (unsigned)geteuid());
        if (name && !strcmp(name, "CACHE_DIRECTORY")) cache[strcspn(cache, ":")] = 0;
        run_in(cache, argv);
        if (i == 0) break;  /* who names a place means it */
    }
    fprintf(stderr, "kubetrio: cannot unpack: %s; set KUBETRIO_CACHE to a directory of this user "
                    "that programs can run from\n", why);
    return 1;
}
