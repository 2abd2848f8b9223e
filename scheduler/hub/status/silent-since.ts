import { PRESENCE_MS } from '#bundles/hub/hub-api';
import { formatTime, type Timestamp } from '#bundles/time';

/** One word may be lost and one come late; three are missed by nobody who is there. */
const MISSED = 3;

/** Of an agent that was on line, and was last heard over the network before this, nobody knows whether it is still there. */
export const silentSince = (now: Date): Timestamp =>
  formatTime(new Date(now.getTime() - MISSED * PRESENCE_MS));
