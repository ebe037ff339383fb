"""Types of core/v1; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, LabelSelector, ObjectMeta, TemplateMeta

class AWSElasticBlockStoreVolumeSource(TypedDict):
    """A disk of AWS Elastic Block Store; handled by the driver ebs.csi.aws.com."""

    fsType: NotRequired[str]
    partition: NotRequired[int]
    readOnly: NotRequired[bool]
    volumeID: str

class Affinity(TypedDict):
    """Rules that draw a pod to nodes, or to and away from other pods."""

    nodeAffinity: NotRequired[NodeAffinity]
    podAffinity: NotRequired[PodAffinity]
    podAntiAffinity: NotRequired[PodAntiAffinity]

class AppArmorProfile(TypedDict):
    """The AppArmor profile that confines a container."""

    localhostProfile: NotRequired[str]
    type: Literal["Localhost", "RuntimeDefault", "Unconfined"]

class AttachedVolume(TypedDict):
    """A volume that is attached to a node."""

    devicePath: str
    name: str

class AzureDiskVolumeSource(TypedDict):
    """A data disk of Azure; handled by the driver disk.csi.azure.com."""

    cachingMode: NotRequired[Literal["None", "ReadOnly", "ReadWrite"]]
    diskName: str
    diskURI: str
    fsType: NotRequired[str]
    kind: NotRequired[Literal["Dedicated", "Managed", "Shared"]]
    readOnly: NotRequired[bool]

class AzureFilePersistentVolumeSource(TypedDict):
    """See the API's AzureFilePersistentVolumeSource."""

    readOnly: NotRequired[bool]
    secretName: str
    secretNamespace: NotRequired[str]
    shareName: str

class AzureFileVolumeSource(TypedDict):
    """A file share of Azure; handled by the driver file.csi.azure.com."""

    readOnly: NotRequired[bool]
    secretName: str
    shareName: str

class Binding(TypedDict):
    """Assigns a pod to a node; sent to the pod's binding subresource by schedulers."""

    apiVersion: Literal["v1"]
    kind: Literal["Binding"]
    metadata: NotRequired[ObjectMeta]
    target: ObjectReference

class CSIPersistentVolumeSource(TypedDict):
    """A volume of a CSI driver."""

    controllerExpandSecretRef: NotRequired[SecretReference]
    controllerPublishSecretRef: NotRequired[SecretReference]
    driver: str
    fsType: NotRequired[str]
    nodeExpandSecretRef: NotRequired[SecretReference]
    nodePublishSecretRef: NotRequired[SecretReference]
    nodeStageSecretRef: NotRequired[SecretReference]
    readOnly: NotRequired[bool]
    volumeAttributes: NotRequired[dict[str, str]]
    volumeHandle: str

class CSIVolumeSource(TypedDict):
    """A volume that a CSI driver makes for the lifetime of one pod."""

    driver: str
    fsType: NotRequired[str]
    nodePublishSecretRef: NotRequired[LocalObjectReference]
    readOnly: NotRequired[bool]
    volumeAttributes: NotRequired[dict[str, str]]

class Capabilities(TypedDict):
    """Linux capabilities that a container gets or loses, compared with those of the container ru."""

    add: NotRequired[list[str]]
    drop: NotRequired[list[str]]

class CephFSPersistentVolumeSource(TypedDict):
    """See the API's CephFSPersistentVolumeSource."""

    monitors: list[str]
    path: NotRequired[str]
    readOnly: NotRequired[bool]
    secretFile: NotRequired[str]
    secretRef: NotRequired[SecretReference]
    user: NotRequired[str]

class CephFSVolumeSource(TypedDict):
    """A directory of a Ceph file system; its in-tree driver has been removed."""

    monitors: list[str]
    path: NotRequired[str]
    readOnly: NotRequired[bool]
    secretFile: NotRequired[str]
    secretRef: NotRequired[LocalObjectReference]
    user: NotRequired[str]

class CinderPersistentVolumeSource(TypedDict):
    """See the API's CinderPersistentVolumeSource."""

    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[SecretReference]
    volumeID: str

class CinderVolumeSource(TypedDict):
    """A disk of OpenStack Cinder; handled by the driver cinder.csi.openstack.org."""

    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    volumeID: str

class ClientIPConfig(TypedDict):
    """Session affinity by client addresses."""

    timeoutSeconds: NotRequired[int]

class ClusterTrustBundleProjection(TypedDict):
    """Trust anchors of ClusterTrustBundles, as a file of PEM certificates."""

    labelSelector: NotRequired[LabelSelector]
    name: NotRequired[str]
    optional: NotRequired[bool]
    path: str
    signerName: NotRequired[str]

class ComponentCondition(TypedDict):
    """Health of a component."""

    error: NotRequired[str]
    message: NotRequired[str]
    status: str
    type: str

class ComponentStatus(TypedDict):
    """Health of a component of the control plane."""

    apiVersion: Literal["v1"]
    kind: Literal["ComponentStatus"]
    metadata: ObjectMeta
    conditions: NotRequired[list[ComponentCondition]]

class ConfigMap(TypedDict):
    """Configuration data that pods and other programs can read."""

    apiVersion: Literal["v1"]
    kind: Literal["ConfigMap"]
    metadata: ObjectMeta
    binaryData: NotRequired[dict[str, str]]
    data: NotRequired[dict[str, str]]
    immutable: NotRequired[bool]

class ConfigMapEnvSource(TypedDict):
    """All entries of a ConfigMap, as environment variables."""

    name: NotRequired[str]
    optional: NotRequired[bool]

class ConfigMapKeySelector(TypedDict):
    """One entry of a ConfigMap."""

    key: str
    name: NotRequired[str]
    optional: NotRequired[bool]

class ConfigMapNodeConfigSource(TypedDict):
    """Configuration of a kubelet from a ConfigMap; no longer supported by kubelets."""

    kubeletConfigKey: str
    name: str
    namespace: str
    resourceVersion: NotRequired[str]
    uid: NotRequired[str]

class ConfigMapProjection(TypedDict):
    """Entries of a ConfigMap, as files of a projected volume."""

    items: NotRequired[list[KeyToPath]]
    name: NotRequired[str]
    optional: NotRequired[bool]

class ConfigMapVolumeSource(TypedDict):
    """Entries of a ConfigMap, as files."""

    defaultMode: NotRequired[int]
    items: NotRequired[list[KeyToPath]]
    name: NotRequired[str]
    optional: NotRequired[bool]

class Container(TypedDict):
    """A container to run in a pod."""

    args: NotRequired[list[str]]
    command: NotRequired[list[str]]
    env: NotRequired[list[EnvVar]]
    envFrom: NotRequired[list[EnvFromSource]]
    image: NotRequired[str]
    imagePullPolicy: NotRequired[Literal["Always", "IfNotPresent", "Never"]]
    lifecycle: NotRequired[Lifecycle]
    livenessProbe: NotRequired[Probe]
    name: str
    ports: NotRequired[list[ContainerPort]]
    readinessProbe: NotRequired[Probe]
    resizePolicy: NotRequired[list[ContainerResizePolicy]]
    resources: NotRequired[ResourceRequirements]
    restartPolicy: NotRequired[str]
    restartPolicyRules: NotRequired[list[ContainerRestartRule]]
    securityContext: NotRequired[SecurityContext]
    startupProbe: NotRequired[Probe]
    stdin: NotRequired[bool]
    stdinOnce: NotRequired[bool]
    terminationMessagePath: NotRequired[str]
    terminationMessagePolicy: NotRequired[Literal["FallbackToLogsOnError", "File"]]
    tty: NotRequired[bool]
    volumeDevices: NotRequired[list[VolumeDevice]]
    volumeMounts: NotRequired[list[VolumeMount]]
    workingDir: NotRequired[str]

class ContainerExtendedResourceRequest(TypedDict):
    """Says which device request stands for an extended resource of a container."""

    containerName: str
    requestName: str
    resourceName: str

class ContainerImage(TypedDict):
    """An image that is present on a node."""

    names: NotRequired[list[str]]
    sizeBytes: NotRequired[int]

class ContainerPort(TypedDict):
    """A port that a container listens on."""

    containerPort: int
    hostIP: NotRequired[str]
    hostPort: NotRequired[int]
    name: NotRequired[str]
    protocol: NotRequired[Literal["SCTP", "TCP", "UDP"]]

class ContainerResizePolicy(TypedDict):
    """What resizing one resource asks for."""

    resourceName: str
    restartPolicy: str

class ContainerRestartRule(TypedDict):
    """What to do when a container exits in a certain way."""

    action: str
    exitCodes: NotRequired[ContainerRestartRuleOnExitCodes]

class ContainerRestartRuleOnExitCodes(TypedDict):
    """Chooses exits by their code."""

    operator: str
    values: NotRequired[list[int]]

class ContainerState(TypedDict):
    """State of a container; one of the fields is set, and none means waiting."""

    running: NotRequired[ContainerStateRunning]
    terminated: NotRequired[ContainerStateTerminated]
    waiting: NotRequired[ContainerStateWaiting]

class ContainerStateRunning(TypedDict):
    """A container that runs."""

    startedAt: NotRequired[str]

class ContainerStateTerminated(TypedDict):
    """A container that has ended."""

    containerID: NotRequired[str]
    exitCode: int
    finishedAt: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    signal: NotRequired[int]
    startedAt: NotRequired[str]

class ContainerStateWaiting(TypedDict):
    """A container that waits to be started."""

    message: NotRequired[str]
    reason: NotRequired[str]

class ContainerStatus(TypedDict):
    """What was observed of a container."""

    allocatedResources: NotRequired[dict[str, str]]
    allocatedResourcesStatus: NotRequired[list[ResourceStatus]]
    containerID: NotRequired[str]
    image: str
    imageID: str
    lastState: NotRequired[ContainerState]
    name: str
    ready: bool
    resources: NotRequired[ResourceRequirements]
    restartCount: int
    started: NotRequired[bool]
    state: NotRequired[ContainerState]
    stopSignal: NotRequired[Literal["SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"]]
    user: NotRequired[ContainerUser]
    volumeMounts: NotRequired[list[VolumeMountStatus]]

class ContainerUser(TypedDict):
    """Identity of the first process of a container."""

    linux: NotRequired[LinuxContainerUser]

class DaemonEndpoint(TypedDict):
    """Where a daemon of a node listens."""

    Port: int

class DownwardAPIProjection(TypedDict):
    """Data about the pod, as files of a projected volume."""

    items: NotRequired[list[DownwardAPIVolumeFile]]

class DownwardAPIVolumeFile(TypedDict):
    """A file with one value about the pod."""

    fieldRef: NotRequired[ObjectFieldSelector]
    mode: NotRequired[int]
    path: str
    resourceFieldRef: NotRequired[ResourceFieldSelector]

class DownwardAPIVolumeSource(TypedDict):
    """Data about the pod, as files."""

    defaultMode: NotRequired[int]
    items: NotRequired[list[DownwardAPIVolumeFile]]

class EmptyDirVolumeSource(TypedDict):
    """An empty directory that lives as long as the pod is on its node."""

    medium: NotRequired[str]
    sizeLimit: NotRequired[str]

class EndpointAddress(TypedDict):
    """An address behind a Service."""

    hostname: NotRequired[str]
    ip: str
    nodeName: NotRequired[str]
    targetRef: NotRequired[ObjectReference]

class EndpointPort(TypedDict):
    """A port behind a Service."""

    appProtocol: NotRequired[str]
    name: NotRequired[str]
    port: int
    protocol: NotRequired[Literal["SCTP", "TCP", "UDP"]]

class EndpointSubset(TypedDict):
    """Addresses that share ports; every address is combined with every port."""

    addresses: NotRequired[list[EndpointAddress]]
    notReadyAddresses: NotRequired[list[EndpointAddress]]
    ports: NotRequired[list[EndpointPort]]

class Endpoints(TypedDict):
    """Addresses and ports behind the Service of the same name."""

    apiVersion: Literal["v1"]
    kind: Literal["Endpoints"]
    metadata: ObjectMeta
    subsets: NotRequired[list[EndpointSubset]]

class EnvFromSource(TypedDict):
    """A source of which every entry becomes an environment variable."""

    configMapRef: NotRequired[ConfigMapEnvSource]
    prefix: NotRequired[str]
    secretRef: NotRequired[SecretEnvSource]

class EnvVar(TypedDict):
    """An environment variable of a container."""

    name: str
    value: NotRequired[str]
    valueFrom: NotRequired[EnvVarSource]

class EnvVarSource(TypedDict):
    """Where the value of an environment variable comes from; one field is set."""

    configMapKeyRef: NotRequired[ConfigMapKeySelector]
    fieldRef: NotRequired[ObjectFieldSelector]
    fileKeyRef: NotRequired[FileKeySelector]
    resourceFieldRef: NotRequired[ResourceFieldSelector]
    secretKeyRef: NotRequired[SecretKeySelector]

class EphemeralContainer(TypedDict):
    """A container added to a running pod for a while, mostly to debug it."""

    args: NotRequired[list[str]]
    command: NotRequired[list[str]]
    env: NotRequired[list[EnvVar]]
    envFrom: NotRequired[list[EnvFromSource]]
    image: NotRequired[str]
    imagePullPolicy: NotRequired[Literal["Always", "IfNotPresent", "Never"]]
    lifecycle: NotRequired[Lifecycle]
    livenessProbe: NotRequired[Probe]
    name: str
    ports: NotRequired[list[ContainerPort]]
    readinessProbe: NotRequired[Probe]
    resizePolicy: NotRequired[list[ContainerResizePolicy]]
    resources: NotRequired[ResourceRequirements]
    restartPolicy: NotRequired[str]
    restartPolicyRules: NotRequired[list[ContainerRestartRule]]
    securityContext: NotRequired[SecurityContext]
    startupProbe: NotRequired[Probe]
    stdin: NotRequired[bool]
    stdinOnce: NotRequired[bool]
    targetContainerName: NotRequired[str]
    terminationMessagePath: NotRequired[str]
    terminationMessagePolicy: NotRequired[Literal["FallbackToLogsOnError", "File"]]
    tty: NotRequired[bool]
    volumeDevices: NotRequired[list[VolumeDevice]]
    volumeMounts: NotRequired[list[VolumeMount]]
    workingDir: NotRequired[str]

class EphemeralVolumeSource(TypedDict):
    """A volume made with a claim of its own, which is deleted with the pod."""

    volumeClaimTemplate: NotRequired[PersistentVolumeClaimTemplate]

class Event(TypedDict):
    """Something that happened to an object; kept for a limited time and without guarantees."""

    apiVersion: Literal["v1"]
    kind: Literal["Event"]
    metadata: ObjectMeta
    action: NotRequired[str]
    count: NotRequired[int]
    eventTime: NotRequired[str]
    firstTimestamp: NotRequired[str]
    involvedObject: ObjectReference
    lastTimestamp: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    related: NotRequired[ObjectReference]
    reportingComponent: NotRequired[str]
    reportingInstance: NotRequired[str]
    series: NotRequired[EventSeries]
    source: NotRequired[EventSource]
    type: NotRequired[str]

class EventSeries(TypedDict):
    """Counts how often an event was repeated."""

    count: NotRequired[int]
    lastObservedTime: NotRequired[str]

class EventSource(TypedDict):
    """What reports an event."""

    component: NotRequired[str]
    host: NotRequired[str]

class ExecAction(TypedDict):
    """Runs a command in the container; exit code 0 means success."""

    command: NotRequired[list[str]]

class FCVolumeSource(TypedDict):
    """A disk of a Fibre Channel network."""

    fsType: NotRequired[str]
    lun: NotRequired[int]
    readOnly: NotRequired[bool]
    targetWWNs: NotRequired[list[str]]
    wwids: NotRequired[list[str]]

class FileKeySelector(TypedDict):
    """One entry of a file of environment variables."""

    key: str
    optional: NotRequired[bool]
    path: str
    volumeName: str

class FlexPersistentVolumeSource(TypedDict):
    """See the API's FlexPersistentVolumeSource."""

    driver: str
    fsType: NotRequired[str]
    options: NotRequired[dict[str, str]]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[SecretReference]

class FlexVolumeSource(TypedDict):
    """A volume of a program on the node."""

    driver: str
    fsType: NotRequired[str]
    options: NotRequired[dict[str, str]]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]

class FlockerVolumeSource(TypedDict):
    """A volume of Flocker; its in-tree driver has been removed."""

    datasetName: NotRequired[str]
    datasetUUID: NotRequired[str]

class GCEPersistentDiskVolumeSource(TypedDict):
    """A persistent disk of Google Compute Engine; handled by the driver pd.csi.storage.gke.io."""

    fsType: NotRequired[str]
    partition: NotRequired[int]
    pdName: str
    readOnly: NotRequired[bool]

class GRPCAction(TypedDict):
    """Calls the health service of gRPC."""

    port: int
    service: NotRequired[str]

class GitRepoVolumeSource(TypedDict):
    """A clone of a git repository."""

    directory: NotRequired[str]
    repository: str
    revision: NotRequired[str]

class GlusterfsPersistentVolumeSource(TypedDict):
    """See the API's GlusterfsPersistentVolumeSource."""

    endpoints: str
    endpointsNamespace: NotRequired[str]
    path: str
    readOnly: NotRequired[bool]

class GlusterfsVolumeSource(TypedDict):
    """A volume of Glusterfs; its in-tree driver has been removed."""

    endpoints: str
    path: str
    readOnly: NotRequired[bool]

class HTTPGetAction(TypedDict):
    """Sends a GET request; an answer from 200 to 399 means success."""

    host: NotRequired[str]
    httpHeaders: NotRequired[list[HTTPHeader]]
    path: NotRequired[str]
    port: int | str
    scheme: NotRequired[Literal["HTTP", "HTTPS"]]

class HTTPHeader(TypedDict):
    """A header of a request."""

    name: str
    value: str

class HostAlias(TypedDict):
    """A line for the hosts file of the pod."""

    hostnames: NotRequired[list[str]]
    ip: str

class HostIP(TypedDict):
    """An address of the node."""

    ip: str

class HostPathVolumeSource(TypedDict):
    """A file or directory of the node."""

    path: str
    type: NotRequired[Literal["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"]]

class ISCSIPersistentVolumeSource(TypedDict):
    """See the API's ISCSIPersistentVolumeSource."""

    chapAuthDiscovery: NotRequired[bool]
    chapAuthSession: NotRequired[bool]
    fsType: NotRequired[str]
    initiatorName: NotRequired[str]
    iqn: str
    iscsiInterface: NotRequired[str]
    lun: int
    portals: NotRequired[list[str]]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[SecretReference]
    targetPortal: str

class ISCSIVolumeSource(TypedDict):
    """A disk of an iSCSI target."""

    chapAuthDiscovery: NotRequired[bool]
    chapAuthSession: NotRequired[bool]
    fsType: NotRequired[str]
    initiatorName: NotRequired[str]
    iqn: str
    iscsiInterface: NotRequired[str]
    lun: int
    portals: NotRequired[list[str]]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    targetPortal: str

class ImageVolumeSource(TypedDict):
    """The content of an image, as a read-only volume."""

    pullPolicy: NotRequired[Literal["Always", "IfNotPresent", "Never"]]
    reference: NotRequired[str]

class ImageVolumeStatus(TypedDict):
    """What was mounted from an image."""

    imageRef: str

class KeyToPath(TypedDict):
    """Says which file an entry becomes."""

    key: str
    mode: NotRequired[int]
    path: str

class Lifecycle(TypedDict):
    """Hooks of a container's life."""

    postStart: NotRequired[LifecycleHandler]
    preStop: NotRequired[LifecycleHandler]
    stopSignal: NotRequired[Literal["SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"]]

class LifecycleHandler(TypedDict):
    """What a hook does; one field is set."""

    exec: NotRequired[ExecAction]
    httpGet: NotRequired[HTTPGetAction]
    sleep: NotRequired[SleepAction]
    tcpSocket: NotRequired[TCPSocketAction]

class LimitRange(TypedDict):
    """Smallest, greatest and default resources of pods, containers and claims of a namespace."""

    apiVersion: Literal["v1"]
    kind: Literal["LimitRange"]
    metadata: ObjectMeta
    spec: LimitRangeSpec

class LimitRangeItem(TypedDict):
    """Limits for one type of object."""

    default: NotRequired[dict[str, str]]
    defaultRequest: NotRequired[dict[str, str]]
    max: NotRequired[dict[str, str]]
    maxLimitRequestRatio: NotRequired[dict[str, str]]
    min: NotRequired[dict[str, str]]
    type: str

class LimitRangeSpec(TypedDict):
    """The limits of a namespace."""

    limits: list[LimitRangeItem]

class LinuxContainerUser(TypedDict):
    """User and groups that a process started with."""

    gid: int
    supplementalGroups: NotRequired[list[int]]
    uid: int

class LoadBalancerIngress(TypedDict):
    """Where a load balancer takes traffic."""

    hostname: NotRequired[str]
    ip: NotRequired[str]
    ipMode: NotRequired[str]
    ports: NotRequired[list[PortStatus]]

class LoadBalancerStatus(TypedDict):
    """State of a load balancer."""

    ingress: NotRequired[list[LoadBalancerIngress]]

class LocalObjectReference(TypedDict):
    """Names an object in the same namespace."""

    name: NotRequired[str]

class LocalVolumeSource(TypedDict):
    """A disk, partition or directory of one node."""

    fsType: NotRequired[str]
    path: str

class ModifyVolumeStatus(TypedDict):
    """How far a change of a volume's attributes has come."""

    status: Literal["InProgress", "Infeasible", "Pending"]
    targetVolumeAttributesClassName: NotRequired[str]

class NFSVolumeSource(TypedDict):
    """A directory of an NFS server."""

    path: str
    readOnly: NotRequired[bool]
    server: str

class Namespace(TypedDict):
    """A space of names for objects, and what access and quotas are granted by."""

    apiVersion: Literal["v1"]
    kind: Literal["Namespace"]
    metadata: ObjectMeta
    spec: NotRequired[NamespaceSpec]
    status: NotRequired[NamespaceStatus]

class NamespaceCondition(TypedDict):
    """One aspect of a namespace's state, mostly about problems while it is deleted."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class NamespaceSpec(TypedDict):
    """Settings of a namespace."""

    finalizers: NotRequired[list[str]]

class NamespaceStatus(TypedDict):
    """What was observed of a namespace."""

    conditions: NotRequired[list[NamespaceCondition]]
    phase: NotRequired[Literal["Active", "Terminating"]]

class Node(TypedDict):
    """A machine that runs pods."""

    apiVersion: Literal["v1"]
    kind: Literal["Node"]
    metadata: ObjectMeta
    spec: NotRequired[NodeSpec]
    status: NotRequired[NodeStatus]

class NodeAddress(TypedDict):
    """An address of a node."""

    address: str
    type: str

class NodeAffinity(TypedDict):
    """Rules that draw a pod to nodes by their labels."""

    preferredDuringSchedulingIgnoredDuringExecution: NotRequired[list[PreferredSchedulingTerm]]
    requiredDuringSchedulingIgnoredDuringExecution: NotRequired[NodeSelector]

class NodeAllocatableResourceClaimStatus(TypedDict):
    """Node resources such as CPU that a pod gets through a claim."""

    containers: NotRequired[list[str]]
    resourceClaimName: str
    resources: dict[str, str]

class NodeCondition(TypedDict):
    """One aspect of a node's state, such as Ready or MemoryPressure."""

    lastHeartbeatTime: NotRequired[str]
    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class NodeConfigSource(TypedDict):
    """Where a kubelet got its configuration."""

    configMap: NotRequired[ConfigMapNodeConfigSource]

class NodeConfigStatus(TypedDict):
    """State of a kubelet's configuration from the API."""

    active: NotRequired[NodeConfigSource]
    assigned: NotRequired[NodeConfigSource]
    error: NotRequired[str]
    lastKnownGood: NotRequired[NodeConfigSource]

class NodeDaemonEndpoints(TypedDict):
    """Where daemons of a node listen."""

    kubeletEndpoint: NotRequired[DaemonEndpoint]

class NodeFeatures(TypedDict):
    """What the container runtime of a node can do."""

    supplementalGroupsPolicy: NotRequired[bool]

class NodeRuntimeHandler(TypedDict):
    """A handler of a node's container runtime."""

    features: NotRequired[NodeRuntimeHandlerFeatures]
    name: NotRequired[str]

class NodeRuntimeHandlerFeatures(TypedDict):
    """What a runtime handler can do."""

    recursiveReadOnlyMounts: NotRequired[bool]
    userNamespaces: NotRequired[bool]

class NodeSelector(TypedDict):
    """Chooses nodes; one of its terms must match."""

    nodeSelectorTerms: list[NodeSelectorTerm]

class NodeSelectorRequirement(TypedDict):
    """A condition on a label or field of a node."""

    key: str
    operator: Literal["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]
    values: NotRequired[list[str]]

class NodeSelectorTerm(TypedDict):
    """Conditions on a node, all of which must hold; an empty term matches nothing."""

    matchExpressions: NotRequired[list[NodeSelectorRequirement]]
    matchFields: NotRequired[list[NodeSelectorRequirement]]

class NodeSpec(TypedDict):
    """Settings of a node."""

    configSource: NotRequired[NodeConfigSource]
    externalID: NotRequired[str]
    podCIDR: NotRequired[str]
    podCIDRs: NotRequired[list[str]]
    providerID: NotRequired[str]
    taints: NotRequired[list[Taint]]
    unschedulable: NotRequired[bool]

class NodeStatus(TypedDict):
    """What was observed of a node."""

    addresses: NotRequired[list[NodeAddress]]
    allocatable: NotRequired[dict[str, str]]
    capacity: NotRequired[dict[str, str]]
    conditions: NotRequired[list[NodeCondition]]
    config: NotRequired[NodeConfigStatus]
    daemonEndpoints: NotRequired[NodeDaemonEndpoints]
    declaredFeatures: NotRequired[list[str]]
    features: NotRequired[NodeFeatures]
    images: NotRequired[list[ContainerImage]]
    nodeInfo: NotRequired[NodeSystemInfo]
    phase: NotRequired[Literal["Pending", "Running", "Terminated"]]
    runtimeHandlers: NotRequired[list[NodeRuntimeHandler]]
    volumesAttached: NotRequired[list[AttachedVolume]]
    volumesInUse: NotRequired[list[str]]

class NodeSwapStatus(TypedDict):
    """Swap of a node."""

    capacity: NotRequired[int]

class NodeSystemInfo(TypedDict):
    """Versions and IDs of a node."""

    architecture: str
    bootID: str
    containerRuntimeVersion: str
    kernelVersion: str
    kubeProxyVersion: str
    kubeletVersion: str
    machineID: str
    operatingSystem: str
    osImage: str
    swap: NotRequired[NodeSwapStatus]
    systemUUID: str

class ObjectFieldSelector(TypedDict):
    """A field of an object."""

    apiVersion: NotRequired[str]
    fieldPath: str

class ObjectReference(TypedDict):
    """Points to an object, or to a part of it."""

    apiVersion: NotRequired[str]
    fieldPath: NotRequired[str]
    kind: NotRequired[str]
    name: NotRequired[str]
    namespace: NotRequired[str]
    resourceVersion: NotRequired[str]
    uid: NotRequired[str]

class PersistentVolume(TypedDict):
    """A piece of storage of the cluster, which a claim can be bound to."""

    apiVersion: Literal["v1"]
    kind: Literal["PersistentVolume"]
    metadata: ObjectMeta
    spec: NotRequired[PersistentVolumeSpec]
    status: NotRequired[PersistentVolumeStatus]

class PersistentVolumeClaim(TypedDict):
    """Asks for storage, and holds the volume that it was bound to."""

    apiVersion: Literal["v1"]
    kind: Literal["PersistentVolumeClaim"]
    metadata: ObjectMeta
    spec: NotRequired[PersistentVolumeClaimSpec]
    status: NotRequired[PersistentVolumeClaimStatus]

class PersistentVolumeClaimCondition(TypedDict):
    """One aspect of a claim's state, such as Resizing."""

    lastProbeTime: NotRequired[str]
    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class PersistentVolumeClaimSpec(TypedDict):
    """Describes the storage to ask for."""

    accessModes: NotRequired[list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]]]
    dataSource: NotRequired[TypedLocalObjectReference]
    dataSourceRef: NotRequired[TypedObjectReference]
    resources: NotRequired[VolumeResourceRequirements]
    selector: NotRequired[LabelSelector]
    storageClassName: NotRequired[str]
    volumeAttributesClassName: NotRequired[str]
    volumeMode: NotRequired[Literal["Block", "Filesystem"]]
    volumeName: NotRequired[str]

class PersistentVolumeClaimStatus(TypedDict):
    """What was observed of a claim."""

    accessModes: NotRequired[list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]]]
    allocatedResourceStatuses: NotRequired[dict[str, Literal["ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"]]]
    allocatedResources: NotRequired[dict[str, str]]
    capacity: NotRequired[dict[str, str]]
    conditions: NotRequired[list[PersistentVolumeClaimCondition]]
    currentVolumeAttributesClassName: NotRequired[str]
    modifyVolumeStatus: NotRequired[ModifyVolumeStatus]
    phase: NotRequired[Literal["Bound", "Lost", "Pending"]]

class PersistentVolumeClaimTemplate(TypedDict):
    """A claim to be made for a pod."""

    metadata: NotRequired[TemplateMeta]
    spec: PersistentVolumeClaimSpec

class PersistentVolumeClaimVolumeSource(TypedDict):
    """The volume of a claim."""

    claimName: str
    readOnly: NotRequired[bool]

class PersistentVolumeSpec(TypedDict):
    """Describes a piece of storage; exactly one kind of storage is set."""

    accessModes: NotRequired[list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]]]
    awsElasticBlockStore: NotRequired[AWSElasticBlockStoreVolumeSource]
    azureDisk: NotRequired[AzureDiskVolumeSource]
    azureFile: NotRequired[AzureFilePersistentVolumeSource]
    capacity: NotRequired[dict[str, str]]
    cephfs: NotRequired[CephFSPersistentVolumeSource]
    cinder: NotRequired[CinderPersistentVolumeSource]
    claimRef: NotRequired[ObjectReference]
    csi: NotRequired[CSIPersistentVolumeSource]
    fc: NotRequired[FCVolumeSource]
    flexVolume: NotRequired[FlexPersistentVolumeSource]
    flocker: NotRequired[FlockerVolumeSource]
    gcePersistentDisk: NotRequired[GCEPersistentDiskVolumeSource]
    glusterfs: NotRequired[GlusterfsPersistentVolumeSource]
    hostPath: NotRequired[HostPathVolumeSource]
    iscsi: NotRequired[ISCSIPersistentVolumeSource]
    local: NotRequired[LocalVolumeSource]
    mountOptions: NotRequired[list[str]]
    nfs: NotRequired[NFSVolumeSource]
    nodeAffinity: NotRequired[VolumeNodeAffinity]
    persistentVolumeReclaimPolicy: NotRequired[Literal["Delete", "Recycle", "Retain"]]
    photonPersistentDisk: NotRequired[PhotonPersistentDiskVolumeSource]
    portworxVolume: NotRequired[PortworxVolumeSource]
    quobyte: NotRequired[QuobyteVolumeSource]
    rbd: NotRequired[RBDPersistentVolumeSource]
    scaleIO: NotRequired[ScaleIOPersistentVolumeSource]
    storageClassName: NotRequired[str]
    storageos: NotRequired[StorageOSPersistentVolumeSource]
    volumeAttributesClassName: NotRequired[str]
    volumeMode: NotRequired[Literal["Block", "Filesystem"]]
    vsphereVolume: NotRequired[VsphereVirtualDiskVolumeSource]

class PersistentVolumeStatus(TypedDict):
    """What was observed of a volume."""

    lastPhaseTransitionTime: NotRequired[str]
    message: NotRequired[str]
    phase: NotRequired[Literal["Available", "Bound", "Failed", "Pending", "Released"]]
    reason: NotRequired[str]

class PhotonPersistentDiskVolumeSource(TypedDict):
    """A disk of Photon Controller; its in-tree driver has been removed."""

    fsType: NotRequired[str]
    pdID: str

class Pod(TypedDict):
    """Containers that run together on one node and share a network address and volumes."""

    apiVersion: Literal["v1"]
    kind: Literal["Pod"]
    metadata: ObjectMeta
    spec: PodSpec
    status: NotRequired[PodStatus]

class PodAffinity(TypedDict):
    """Rules that draw a pod to where certain other pods run."""

    preferredDuringSchedulingIgnoredDuringExecution: NotRequired[list[WeightedPodAffinityTerm]]
    requiredDuringSchedulingIgnoredDuringExecution: NotRequired[list[PodAffinityTerm]]

class PodAffinityTerm(TypedDict):
    """Chooses pods, and says what running beside them means."""

    labelSelector: NotRequired[LabelSelector]
    matchLabelKeys: NotRequired[list[str]]
    mismatchLabelKeys: NotRequired[list[str]]
    namespaceSelector: NotRequired[LabelSelector]
    namespaces: NotRequired[list[str]]
    topologyKey: str

class PodAntiAffinity(TypedDict):
    """Rules that keep a pod away from where certain other pods run."""

    preferredDuringSchedulingIgnoredDuringExecution: NotRequired[list[WeightedPodAffinityTerm]]
    requiredDuringSchedulingIgnoredDuringExecution: NotRequired[list[PodAffinityTerm]]

class PodCertificateProjection(TypedDict):
    """A private key and a certificate that the kubelet gets for the pod and keeps fresh."""

    certificateChainPath: NotRequired[str]
    credentialBundlePath: NotRequired[str]
    keyPath: NotRequired[str]
    keyType: str
    maxExpirationSeconds: NotRequired[int]
    signerName: str
    userAnnotations: NotRequired[dict[str, str]]

class PodCondition(TypedDict):
    """One aspect of a pod's state, such as PodScheduled, Initialized or Ready."""

    lastProbeTime: NotRequired[str]
    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    observedGeneration: NotRequired[int]
    reason: NotRequired[str]
    status: str
    type: str

class PodDNSConfig(TypedDict):
    """Settings for looking up names, added to what dnsPolicy gives."""

    nameservers: NotRequired[list[str]]
    options: NotRequired[list[PodDNSConfigOption]]
    searches: NotRequired[list[str]]

class PodDNSConfigOption(TypedDict):
    """An option of the resolver."""

    name: NotRequired[str]
    value: NotRequired[str]

class PodExtendedResourceClaimStatus(TypedDict):
    """The claim made for extended resources of a pod that devices stand for."""

    requestMappings: list[ContainerExtendedResourceRequest]
    resourceClaimName: str

class PodIP(TypedDict):
    """An address of a pod."""

    ip: str

class PodOS(TypedDict):
    """Operating system of a pod."""

    name: str

class PodReadinessGate(TypedDict):
    """A further condition that a pod must meet to be ready."""

    conditionType: str

class PodResourceClaim(TypedDict):
    """A claim of devices that containers of the pod can use; one of the two sources is set."""

    name: str
    resourceClaimName: NotRequired[str]
    resourceClaimTemplateName: NotRequired[str]

class PodResourceClaimStatus(TypedDict):
    """The claim that was made for a pod from a template."""

    name: str
    resourceClaimName: NotRequired[str]

class PodSchedulingGate(TypedDict):
    """Something a pod waits for before it is scheduled."""

    name: str

class PodSchedulingGroup(TypedDict):
    """The group that a pod is scheduled with."""

    podGroupName: NotRequired[str]

class PodSecurityContext(TypedDict):
    """Security settings of a pod, and defaults for its containers."""

    appArmorProfile: NotRequired[AppArmorProfile]
    fsGroup: NotRequired[int]
    fsGroupChangePolicy: NotRequired[Literal["Always", "OnRootMismatch"]]
    runAsGroup: NotRequired[int]
    runAsNonRoot: NotRequired[bool]
    runAsUser: NotRequired[int]
    seLinuxChangePolicy: NotRequired[str]
    seLinuxOptions: NotRequired[SELinuxOptions]
    seccompProfile: NotRequired[SeccompProfile]
    supplementalGroups: NotRequired[list[int]]
    supplementalGroupsPolicy: NotRequired[Literal["Merge", "Strict"]]
    sysctls: NotRequired[list[Sysctl]]
    windowsOptions: NotRequired[WindowsSecurityContextOptions]

class PodSpec(TypedDict):
    """Describes the containers of a pod and how and where to run them."""

    activeDeadlineSeconds: NotRequired[int]
    affinity: NotRequired[Affinity]
    automountServiceAccountToken: NotRequired[bool]
    containers: list[Container]
    dnsConfig: NotRequired[PodDNSConfig]
    dnsPolicy: NotRequired[Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]]
    enableServiceLinks: NotRequired[bool]
    ephemeralContainers: NotRequired[list[EphemeralContainer]]
    hostAliases: NotRequired[list[HostAlias]]
    hostIPC: NotRequired[bool]
    hostNetwork: NotRequired[bool]
    hostPID: NotRequired[bool]
    hostUsers: NotRequired[bool]
    hostname: NotRequired[str]
    hostnameOverride: NotRequired[str]
    imagePullSecrets: NotRequired[list[LocalObjectReference]]
    initContainers: NotRequired[list[Container]]
    nodeName: NotRequired[str]
    nodeSelector: NotRequired[dict[str, str]]
    os: NotRequired[PodOS]
    overhead: NotRequired[dict[str, str]]
    preemptionPolicy: NotRequired[Literal["Never", "PreemptLowerPriority"]]
    priority: NotRequired[int]
    priorityClassName: NotRequired[str]
    readinessGates: NotRequired[list[PodReadinessGate]]
    resourceClaims: NotRequired[list[PodResourceClaim]]
    resources: NotRequired[ResourceRequirements]
    restartPolicy: NotRequired[Literal["Always", "Never", "OnFailure"]]
    runtimeClassName: NotRequired[str]
    schedulerName: NotRequired[str]
    schedulingGates: NotRequired[list[PodSchedulingGate]]
    schedulingGroup: NotRequired[PodSchedulingGroup]
    securityContext: NotRequired[PodSecurityContext]
    serviceAccount: NotRequired[str]
    serviceAccountName: NotRequired[str]
    setHostnameAsFQDN: NotRequired[bool]
    shareProcessNamespace: NotRequired[bool]
    subdomain: NotRequired[str]
    terminationGracePeriodSeconds: NotRequired[int]
    tolerations: NotRequired[list[Toleration]]
    topologySpreadConstraints: NotRequired[list[TopologySpreadConstraint]]
    volumes: NotRequired[list[Volume]]

class PodStatus(TypedDict):
    """What was observed of a pod."""

    allocatedResources: NotRequired[dict[str, str]]
    conditions: NotRequired[list[PodCondition]]
    containerStatuses: NotRequired[list[ContainerStatus]]
    ephemeralContainerStatuses: NotRequired[list[ContainerStatus]]
    extendedResourceClaimStatus: NotRequired[PodExtendedResourceClaimStatus]
    hostIP: NotRequired[str]
    hostIPs: NotRequired[list[HostIP]]
    initContainerStatuses: NotRequired[list[ContainerStatus]]
    message: NotRequired[str]
    nodeAllocatableResourceClaimStatuses: NotRequired[list[NodeAllocatableResourceClaimStatus]]
    nominatedNodeName: NotRequired[str]
    observedGeneration: NotRequired[int]
    phase: NotRequired[Literal["Failed", "Pending", "Running", "Succeeded", "Unknown"]]
    podIP: NotRequired[str]
    podIPs: NotRequired[list[PodIP]]
    qosClass: NotRequired[Literal["BestEffort", "Burstable", "Guaranteed"]]
    reason: NotRequired[str]
    resize: NotRequired[str]
    resourceClaimStatuses: NotRequired[list[PodResourceClaimStatus]]
    resources: NotRequired[ResourceRequirements]
    startTime: NotRequired[str]

class PodTemplate(TypedDict):
    """A description of pods to be made, stored as an object."""

    apiVersion: Literal["v1"]
    kind: Literal["PodTemplate"]
    metadata: ObjectMeta
    template: NotRequired[PodTemplateSpec]

class PodTemplateSpec(TypedDict):
    """A description of pods to be made."""

    metadata: NotRequired[TemplateMeta]
    spec: NotRequired[PodSpec]

class PortStatus(TypedDict):
    """State of a port of a load balancer."""

    error: NotRequired[str]
    port: int
    protocol: Literal["SCTP", "TCP", "UDP"]

class PortworxVolumeSource(TypedDict):
    """A volume of Portworx; handled by the driver pxd.portworx.com."""

    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    volumeID: str

class PreferredSchedulingTerm(TypedDict):
    """A preference for certain nodes; an empty term matches all but prefers none."""

    preference: NodeSelectorTerm
    weight: int

class Probe(TypedDict):
    """A check of a container, made again and again by the kubelet; one way of checking is set."""

    exec: NotRequired[ExecAction]
    failureThreshold: NotRequired[int]
    grpc: NotRequired[GRPCAction]
    httpGet: NotRequired[HTTPGetAction]
    initialDelaySeconds: NotRequired[int]
    periodSeconds: NotRequired[int]
    successThreshold: NotRequired[int]
    tcpSocket: NotRequired[TCPSocketAction]
    terminationGracePeriodSeconds: NotRequired[int]
    timeoutSeconds: NotRequired[int]

class ProjectedVolumeSource(TypedDict):
    """Several sources in one directory."""

    defaultMode: NotRequired[int]
    sources: NotRequired[list[VolumeProjection]]

class QuobyteVolumeSource(TypedDict):
    """A volume of Quobyte; its in-tree driver has been removed."""

    group: NotRequired[str]
    readOnly: NotRequired[bool]
    registry: str
    tenant: NotRequired[str]
    user: NotRequired[str]
    volume: str

class RBDPersistentVolumeSource(TypedDict):
    """See the API's RBDPersistentVolumeSource."""

    fsType: NotRequired[str]
    image: str
    keyring: NotRequired[str]
    monitors: list[str]
    pool: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[SecretReference]
    user: NotRequired[str]

class RBDVolumeSource(TypedDict):
    """A block device of Ceph; its in-tree driver has been removed."""

    fsType: NotRequired[str]
    image: str
    keyring: NotRequired[str]
    monitors: list[str]
    pool: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    user: NotRequired[str]

class ReplicationController(TypedDict):
    """Keeps a number of equal pods running."""

    apiVersion: Literal["v1"]
    kind: Literal["ReplicationController"]
    metadata: ObjectMeta
    spec: NotRequired[ReplicationControllerSpec]
    status: NotRequired[ReplicationControllerStatus]

class ReplicationControllerCondition(TypedDict):
    """One aspect of a ReplicationController's state, such as ReplicaFailure."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class ReplicationControllerSpec(TypedDict):
    """Describes the pods to keep running."""

    minReadySeconds: NotRequired[int]
    replicas: NotRequired[int]
    selector: NotRequired[dict[str, str]]
    template: NotRequired[PodTemplateSpec]

class ReplicationControllerStatus(TypedDict):
    """What was observed of a ReplicationController."""

    availableReplicas: NotRequired[int]
    conditions: NotRequired[list[ReplicationControllerCondition]]
    fullyLabeledReplicas: NotRequired[int]
    observedGeneration: NotRequired[int]
    readyReplicas: NotRequired[int]
    replicas: int

class ResourceClaim(TypedDict):
    """Names a claim of the pod that a container uses."""

    name: str
    request: NotRequired[str]

class ResourceFieldSelector(TypedDict):
    """A request or limit of a container."""

    containerName: NotRequired[str]
    divisor: NotRequired[str]
    resource: str

class ResourceHealth(TypedDict):
    """Health of one device or other resource."""

    health: NotRequired[str]
    message: NotRequired[str]
    resourceID: str

class ResourceQuota(TypedDict):
    """Limits on what a namespace may use in all."""

    apiVersion: Literal["v1"]
    kind: Literal["ResourceQuota"]
    metadata: ObjectMeta
    spec: NotRequired[ResourceQuotaSpec]
    status: NotRequired[ResourceQuotaStatus]

class ResourceQuotaSpec(TypedDict):
    """Limits of a namespace."""

    hard: NotRequired[dict[str, str]]
    scopeSelector: NotRequired[ScopeSelector]
    scopes: NotRequired[list[Literal["BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass"]]]

class ResourceQuotaStatus(TypedDict):
    """What was observed of a quota."""

    hard: NotRequired[dict[str, str]]
    used: NotRequired[dict[str, str]]

class ResourceRequirements(TypedDict):
    """Resources that a container, or a pod, asks for and may use."""

    claims: NotRequired[list[ResourceClaim]]
    limits: NotRequired[dict[str, str]]
    requests: NotRequired[dict[str, str]]

class ResourceStatus(TypedDict):
    """Health of what a container was given of a resource."""

    name: str
    resources: NotRequired[list[ResourceHealth]]

class SELinuxOptions(TypedDict):
    """An SELinux label."""

    level: NotRequired[str]
    role: NotRequired[str]
    type: NotRequired[str]
    user: NotRequired[str]

class ScaleIOPersistentVolumeSource(TypedDict):
    """See the API's ScaleIOPersistentVolumeSource."""

    fsType: NotRequired[str]
    gateway: str
    protectionDomain: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: SecretReference
    sslEnabled: NotRequired[bool]
    storageMode: NotRequired[str]
    storagePool: NotRequired[str]
    system: str
    volumeName: NotRequired[str]

class ScaleIOVolumeSource(TypedDict):
    """A volume of ScaleIO; its in-tree driver has been removed."""

    fsType: NotRequired[str]
    gateway: str
    protectionDomain: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: LocalObjectReference
    sslEnabled: NotRequired[bool]
    storageMode: NotRequired[str]
    storagePool: NotRequired[str]
    system: str
    volumeName: NotRequired[str]

class ScopeSelector(TypedDict):
    """Chooses objects by scopes; all conditions must hold."""

    matchExpressions: NotRequired[list[ScopedResourceSelectorRequirement]]

class ScopedResourceSelectorRequirement(TypedDict):
    """A condition on a scope."""

    operator: Literal["DoesNotExist", "Exists", "In", "NotIn"]
    scopeName: Literal["BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass"]
    values: NotRequired[list[str]]

class SeccompProfile(TypedDict):
    """The seccomp profile, which says what system calls are allowed."""

    localhostProfile: NotRequired[str]
    type: Literal["Localhost", "RuntimeDefault", "Unconfined"]

class Secret(TypedDict):
    """Confidential data, such as passwords and keys."""

    apiVersion: Literal["v1"]
    kind: Literal["Secret"]
    metadata: ObjectMeta
    data: NotRequired[dict[str, str]]
    immutable: NotRequired[bool]
    stringData: NotRequired[dict[str, str]]
    type: NotRequired[str]

class SecretEnvSource(TypedDict):
    """All entries of a Secret, as environment variables."""

    name: NotRequired[str]
    optional: NotRequired[bool]

class SecretKeySelector(TypedDict):
    """One entry of a Secret."""

    key: str
    name: NotRequired[str]
    optional: NotRequired[bool]

class SecretProjection(TypedDict):
    """Entries of a Secret, as files of a projected volume."""

    items: NotRequired[list[KeyToPath]]
    name: NotRequired[str]
    optional: NotRequired[bool]

class SecretReference(TypedDict):
    """Names a Secret in any namespace."""

    name: NotRequired[str]
    namespace: NotRequired[str]

class SecretVolumeSource(TypedDict):
    """Entries of a Secret, as files."""

    defaultMode: NotRequired[int]
    items: NotRequired[list[KeyToPath]]
    optional: NotRequired[bool]
    secretName: NotRequired[str]

class SecurityContext(TypedDict):
    """Security settings of a container; they win over those of the pod."""

    allowPrivilegeEscalation: NotRequired[bool]
    appArmorProfile: NotRequired[AppArmorProfile]
    capabilities: NotRequired[Capabilities]
    privileged: NotRequired[bool]
    procMount: NotRequired[Literal["Default", "Unmasked"]]
    readOnlyRootFilesystem: NotRequired[bool]
    runAsGroup: NotRequired[int]
    runAsNonRoot: NotRequired[bool]
    runAsUser: NotRequired[int]
    seLinuxOptions: NotRequired[SELinuxOptions]
    seccompProfile: NotRequired[SeccompProfile]
    windowsOptions: NotRequired[WindowsSecurityContextOptions]

class Service(TypedDict):
    """A stable address for a set of pods, with load balancing."""

    apiVersion: Literal["v1"]
    kind: Literal["Service"]
    metadata: ObjectMeta
    spec: NotRequired[ServiceSpec]
    status: NotRequired[ServiceStatus]

class ServiceAccount(TypedDict):
    """An identity for pods and other programs."""

    apiVersion: Literal["v1"]
    kind: Literal["ServiceAccount"]
    metadata: ObjectMeta
    automountServiceAccountToken: NotRequired[bool]
    imagePullSecrets: NotRequired[list[LocalObjectReference]]
    secrets: NotRequired[list[ObjectReference]]

class ServiceAccountTokenProjection(TypedDict):
    """A token of the pod's service account, kept fresh, as a file."""

    audience: NotRequired[str]
    expirationSeconds: NotRequired[int]
    path: str

class ServicePort(TypedDict):
    """A port of a Service."""

    appProtocol: NotRequired[str]
    name: NotRequired[str]
    nodePort: NotRequired[int]
    port: int
    protocol: NotRequired[Literal["SCTP", "TCP", "UDP"]]
    targetPort: NotRequired[int | str]

class ServiceSpec(TypedDict):
    """Describes the address, the ports and the pods of a Service."""

    allocateLoadBalancerNodePorts: NotRequired[bool]
    clusterIP: NotRequired[str]
    clusterIPs: NotRequired[list[str]]
    externalIPs: NotRequired[list[str]]
    externalName: NotRequired[str]
    externalTrafficPolicy: NotRequired[Literal["Cluster", "Local"]]
    healthCheckNodePort: NotRequired[int]
    internalTrafficPolicy: NotRequired[Literal["Cluster", "Local"]]
    ipFamilies: NotRequired[list[Literal["", "IPv4", "IPv6"]]]
    ipFamilyPolicy: NotRequired[Literal["PreferDualStack", "RequireDualStack", "SingleStack"]]
    loadBalancerClass: NotRequired[str]
    loadBalancerIP: NotRequired[str]
    loadBalancerSourceRanges: NotRequired[list[str]]
    ports: NotRequired[list[ServicePort]]
    publishNotReadyAddresses: NotRequired[bool]
    selector: NotRequired[dict[str, str]]
    sessionAffinity: NotRequired[Literal["ClientIP", "None"]]
    sessionAffinityConfig: NotRequired[SessionAffinityConfig]
    trafficDistribution: NotRequired[str]
    type: NotRequired[Literal["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]]

class ServiceStatus(TypedDict):
    """What was observed of a Service."""

    conditions: NotRequired[list[Condition]]
    loadBalancer: NotRequired[LoadBalancerStatus]

class SessionAffinityConfig(TypedDict):
    """Settings for session affinity."""

    clientIP: NotRequired[ClientIPConfig]

class SleepAction(TypedDict):
    """Waits."""

    seconds: int

class StorageOSPersistentVolumeSource(TypedDict):
    """See the API's StorageOSPersistentVolumeSource."""

    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[ObjectReference]
    volumeName: NotRequired[str]
    volumeNamespace: NotRequired[str]

class StorageOSVolumeSource(TypedDict):
    """A volume of StorageOS; its in-tree driver has been removed."""

    fsType: NotRequired[str]
    readOnly: NotRequired[bool]
    secretRef: NotRequired[LocalObjectReference]
    volumeName: NotRequired[str]
    volumeNamespace: NotRequired[str]

class Sysctl(TypedDict):
    """A kernel parameter."""

    name: str
    value: str

class TCPSocketAction(TypedDict):
    """Opens a TCP connection; that it opens means success."""

    host: NotRequired[str]
    port: int | str

class Taint(TypedDict):
    """A mark on a node that pods must tolerate."""

    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"]
    key: str
    timeAdded: NotRequired[str]
    value: NotRequired[str]

class Toleration(TypedDict):
    """Says which taints a pod puts up with."""

    effect: NotRequired[Literal["NoExecute", "NoSchedule", "PreferNoSchedule"]]
    key: NotRequired[str]
    operator: NotRequired[Literal["Equal", "Exists", "Gt", "Lt"]]
    tolerationSeconds: NotRequired[int]
    value: NotRequired[str]

class TopologySelectorLabelRequirement(TypedDict):
    """A condition on one label."""

    key: str
    values: list[str]

class TopologySelectorTerm(TypedDict):
    """Conditions on labels of nodes; all must hold."""

    matchLabelExpressions: NotRequired[list[TopologySelectorLabelRequirement]]

class TopologySpreadConstraint(TypedDict):
    """How pods are spread over places, such as zones or nodes."""

    labelSelector: NotRequired[LabelSelector]
    matchLabelKeys: NotRequired[list[str]]
    maxSkew: int
    minDomains: NotRequired[int]
    nodeAffinityPolicy: NotRequired[Literal["Honor", "Ignore"]]
    nodeTaintsPolicy: NotRequired[Literal["Honor", "Ignore"]]
    topologyKey: str
    whenUnsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]

class TypedLocalObjectReference(TypedDict):
    """Points to an object in the same namespace."""

    apiGroup: NotRequired[str]
    kind: str
    name: str

class TypedObjectReference(TypedDict):
    """Points to an object."""

    apiGroup: NotRequired[str]
    kind: str
    name: str
    namespace: NotRequired[str]

class Volume(TypedDict):
    """A volume that containers of a pod can mount; exactly one kind of volume is set."""

    awsElasticBlockStore: NotRequired[AWSElasticBlockStoreVolumeSource]
    azureDisk: NotRequired[AzureDiskVolumeSource]
    azureFile: NotRequired[AzureFileVolumeSource]
    cephfs: NotRequired[CephFSVolumeSource]
    cinder: NotRequired[CinderVolumeSource]
    configMap: NotRequired[ConfigMapVolumeSource]
    csi: NotRequired[CSIVolumeSource]
    downwardAPI: NotRequired[DownwardAPIVolumeSource]
    emptyDir: NotRequired[EmptyDirVolumeSource]
    ephemeral: NotRequired[EphemeralVolumeSource]
    fc: NotRequired[FCVolumeSource]
    flexVolume: NotRequired[FlexVolumeSource]
    flocker: NotRequired[FlockerVolumeSource]
    gcePersistentDisk: NotRequired[GCEPersistentDiskVolumeSource]
    gitRepo: NotRequired[GitRepoVolumeSource]
    glusterfs: NotRequired[GlusterfsVolumeSource]
    hostPath: NotRequired[HostPathVolumeSource]
    image: NotRequired[ImageVolumeSource]
    iscsi: NotRequired[ISCSIVolumeSource]
    name: str
    nfs: NotRequired[NFSVolumeSource]
    persistentVolumeClaim: NotRequired[PersistentVolumeClaimVolumeSource]
    photonPersistentDisk: NotRequired[PhotonPersistentDiskVolumeSource]
    portworxVolume: NotRequired[PortworxVolumeSource]
    projected: NotRequired[ProjectedVolumeSource]
    quobyte: NotRequired[QuobyteVolumeSource]
    rbd: NotRequired[RBDVolumeSource]
    scaleIO: NotRequired[ScaleIOVolumeSource]
    secret: NotRequired[SecretVolumeSource]
    storageos: NotRequired[StorageOSVolumeSource]
    vsphereVolume: NotRequired[VsphereVirtualDiskVolumeSource]

class VolumeDevice(TypedDict):
    """A block device in a container."""

    devicePath: str
    name: str

class VolumeMount(TypedDict):
    """A volume mounted into a container."""

    mountPath: str
    mountPropagation: NotRequired[Literal["Bidirectional", "HostToContainer", "None"]]
    name: str
    readOnly: NotRequired[bool]
    recursiveReadOnly: NotRequired[str]
    subPath: NotRequired[str]
    subPathExpr: NotRequired[str]

class VolumeMountStatus(TypedDict):
    """State of a mount."""

    mountPath: str
    name: str
    readOnly: NotRequired[bool]
    recursiveReadOnly: NotRequired[str]
    volumeStatus: NotRequired[VolumeStatus]

class VolumeNodeAffinity(TypedDict):
    """Nodes from which a volume can be reached."""

    required: NotRequired[NodeSelector]

class VolumeProjection(TypedDict):
    """A source of a projected volume; one field is set."""

    clusterTrustBundle: NotRequired[ClusterTrustBundleProjection]
    configMap: NotRequired[ConfigMapProjection]
    downwardAPI: NotRequired[DownwardAPIProjection]
    podCertificate: NotRequired[PodCertificateProjection]
    secret: NotRequired[SecretProjection]
    serviceAccountToken: NotRequired[ServiceAccountTokenProjection]

class VolumeResourceRequirements(TypedDict):
    """Size to ask for."""

    limits: NotRequired[dict[str, str]]
    requests: NotRequired[dict[str, str]]

class VolumeStatus(TypedDict):
    """State of a mounted volume; one field is set."""

    image: NotRequired[ImageVolumeStatus]

class VsphereVirtualDiskVolumeSource(TypedDict):
    """A disk of vSphere; handled by the driver csi.vsphere.vmware.com."""

    fsType: NotRequired[str]
    storagePolicyID: NotRequired[str]
    storagePolicyName: NotRequired[str]
    volumePath: str

class WeightedPodAffinityTerm(TypedDict):
    """A preference for places with certain pods."""

    podAffinityTerm: PodAffinityTerm
    weight: int

class WindowsSecurityContextOptions(TypedDict):
    """Security settings for Windows."""

    gmsaCredentialSpec: NotRequired[str]
    gmsaCredentialSpecName: NotRequired[str]
    hostProcess: NotRequired[bool]
    runAsUserName: NotRequired[str]
