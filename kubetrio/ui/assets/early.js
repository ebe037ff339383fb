// Asks for what every page needs while the modules of the pages are still on their way.

import { basics } from "./kinds.js";

basics().catch(() => { /* the frame says so, when it is there */ });
