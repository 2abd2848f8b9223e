import { parse } from 'node:path';
import { fingerprint, type PublicKey } from '#bundles/trust/keys/key';
import { readPublicFile } from '#bundles/trust/keys/read-public-file';
import { isOfficerName } from '#bundles/trust/root/fleet-field';
import type { TrustRoot } from '#bundles/trust/root/root';

/** The name of an officer by the file of their key: 'ada' for keys/ada.pub. undefined where that is not a name. */
export const nameByFile = (file: string): string | undefined => [parse(file).name].find(isOfficerName);

/** Names by fingerprint, of those files whose name is one. @throws FleetError KEY_MISSING, KEY_FORMAT */
export const officersByFile = async (files: readonly string[]): Promise<TrustRoot['officers']> => {
  const all = files.map(async (file) => [fingerprint(await readPublicFile(file)), nameByFile(file)] as const);
  const named = (await Promise.all(all)).flatMap(([key, name]) => (name === undefined ? [] : [[key, name]]));
  return Object.fromEntries(named);
};

/** 'ada 1f3c...', or the fingerprint alone. */
export const describeOfficer = ({ officers }: Pick<TrustRoot, 'officers'>, key: PublicKey): string =>
  [officers[fingerprint(key)], fingerprint(key)].filter((word) => word !== undefined).join(' ');
