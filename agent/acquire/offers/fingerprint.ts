import { formatChannel } from '#bundles/names';
import { idOf, readLocalValues } from '../../store/local-values.ts';
import type { State } from '../../store/state.ts';
import { readFloors, readStatement, readTrustRow } from '../../store/trust.ts';

/**
 * Everything that an import can change, except packages; equal before and after an import that brought no news.
 * @param leases false: a renewed lease does not change the fingerprint
 */
export const fingerprint = (state: State, { leases = true } = {}): string => {
  const { time: _, lease: floor, ...floors } = readFloors(state);
  const { timeFloor: __, ...trust } = readTrustRow(state);
  const scope = trust.channel && formatChannel(trust.channel);
  const digestOf = (role: 'release' | 'lease') => scope && readStatement(state, role, scope)?.digest;
  const site = readStatement(state, 'site', '')?.digest;
  const release = digestOf('release');
  // A person at the site may set a value while a release is being pulled.
  const locals = readLocalValues(state).map(idOf);
  return JSON.stringify([
    floors,
    trust,
    site,
    release,
    ...(leases ? [floor, digestOf('lease')] : []),
    ...locals,
  ]);
};
