import type { Agent } from '../store/agent.ts';
import { aborted } from '../store/journal/aborted.ts';

/** Fires when the agent stops or a newer release is ready. */
export const untilNewRelease = ({ signal, news }: Agent): AbortSignal =>
  news ? AbortSignal.any([signal, news]) : signal;

/** Discards the result of an interrupted wait. @throws FleetError ABORTED when a newer release is ready */
export const checkNewRelease = ({ news }: Agent): void => {
  if (news?.aborted) throw aborted(news.reason);
};
