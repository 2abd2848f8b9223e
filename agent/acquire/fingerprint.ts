import { formatChannel } from '#bundles/names';
import type { State } from '../store/state.ts';
import { readFloors, readStatement, readTrustRow } from '../store/trust.ts';

/** Everything an import can change but the packages; equal before and after: there was no news. */
export const fingerprint = (state: State): string => {
  const { time: _, ...floors } = readFloors(state);
  const { timeFloor: __, ...trust } = readTrustRow(state);
  const site = readStatement(state, 'site', '')?.digest;
  const release = trust.channel && readStatement(state, 'release', formatChannel(trust.channel))?.digest;
  return JSON.stringify({ floors, trust, site, release });
};
