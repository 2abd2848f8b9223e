import { PRESENCE_MS } from '#bundles/formats/events/hub-api';
import { formatTime, type Timestamp } from '#bundles/time';

/** Missed presence messages after which an agent counts as silent: one may be lost and one late. */
const MISSED_MESSAGES = 3;

/** An agent that was online and was last heard over the network before this time is silent. */
export const silentSince = (now: Date): Timestamp =>
  formatTime(new Date(now.getTime() - MISSED_MESSAGES * PRESENCE_MS));
