import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findNode, type NodeBuild } from '../../../bundling/debian/node-build.ts';

const PLACE = '/opt/node';

/** What a host needs bound for thinNode: a Node that its PATH does not have. */
export const THIN_NODE_BIND = { from: process.execPath, to: PLACE, readOnly: true };

/**
 * For a Debian package that is packed, carried and unpacked several times: a script that starts the host's own Node, instead of the
 * 120 MB of Node itself. @param folder where the script is written
 */
export const thinNode = async (folder: string): Promise<NodeBuild> => {
  const program = join(folder, 'thin-node');
  await writeFile(program, `#!/bin/sh\nexec ${PLACE} "$@"\n`, { mode: 0o755 });
  return { ...findNode(resolve(import.meta.dirname, '../../..')), program };
};
