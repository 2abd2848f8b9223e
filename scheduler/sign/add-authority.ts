import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/layout/write-file';
import { generatePrivateKey } from '#bundles/trust/key';
import { createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root';
import {
  AUTHORITY_FILE,
  issueAuthority,
  openKeyDirectory,
  readKeyFile,
  writeKeyFile,
} from './key-directory.ts';

/**
 * Gives a development root that was made without one an authority for agents: the next version of the root, by the
 * same officer. Agents get it with the next medium, like any root. Cut off, the same call goes on.
 * @throws FleetError ALREADY_ENROLLED where there is one, USAGE for a root of several officers
 */
export const addAuthority = async (directory: string, now: Date): Promise<TrustRoot> => {
  const { root, key } = await openKeyDirectory(directory);
  const { fleet, version, roles, receipt, audit } = root;
  if (root.agentCertificates.length > 0)
    throw new FleetError('ALREADY_ENROLLED', `root ${version} of fleet ${fleet} has an authority for agents`);
  if (!root.dev) {
    throw new FleetError('USAGE', 'the next root needs the signatures of its officers', {
      hint: 'Only a development root can be changed by one person',
    });
  }
  const file = join(directory, AUTHORITY_FILE);
  if (!existsSync(file)) await writeKeyFile(file, generatePrivateKey());
  const authority = await readKeyFile(file, "key of the agents' authority");
  const bytes = await createRoot(
    {
      fleet,
      version: version + 1,
      expires: root.expires,
      keys: {
        root: roles.root.keys,
        bundle: roles.bundle.keys,
        release: roles.release.keys,
        lease: roles.lease.keys,
        receipt,
        audit,
      },
      thresholds: {
        root: roles.root.threshold,
        bundle: roles.bundle.threshold,
        release: roles.release.threshold,
        lease: roles.lease.threshold,
      },
      agentCertificates: [await issueAuthority(fleet, authority, now)],
      dev: true,
    },
    [await key('root')],
  );
  const next = parseRoot(bytes);
  await writeFileAtomically(join(directory, `${next.version}.root.json`), bytes);
  return next;
};
