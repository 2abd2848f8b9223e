import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { AUTHORITY_FILE } from '../places/read-key-places.ts';
import { rootFileName } from '../places/root-file.ts';
import { writeNew } from '../places/write-key-file.ts';
import { openKeyDirectory } from '../key-directory.ts';
import { issueAuthority } from './issue-authority.ts';
import { keyAt } from './key-at.ts';
import { rootInput } from './root-input.ts';

/**
 * Adds an authority for agents to a development root that has none, as the next version of the root, signed by the same
 * officer. Agents receive it like any new root. If interrupted, the same call continues.
 * @throws FleetError ALREADY_ENROLLED if it has an authority, USAGE if it is not a development root
 */
export const addAuthority = async (directory: string, now: Date): Promise<TrustRoot> => {
  const { root, key } = await openKeyDirectory(directory);
  const { fleet, version } = root;
  if (root.agentCertificates.length > 0)
    throw new FleetError('ALREADY_ENROLLED', `root ${version} of fleet ${fleet} has an authority for agents`);
  if (!root.dev) {
    throw new FleetError('USAGE', 'the next root needs the signatures of its officers', {
      hint: 'Create the certificate with root ca, and the root with root rotate --authority',
    });
  }
  const authority = await keyAt(join(directory, AUTHORITY_FILE), "key of the agents' authority");
  const bytes = await createRoot(
    {
      ...rootInput(root),
      version: version + 1,
      agentCertificates: [await issueAuthority(fleet, authority, now)],
    },
    [await key('root')],
  );
  const next = parseRoot(bytes);
  await writeNew(join(directory, rootFileName(next.version)), bytes);
  return next;
};
