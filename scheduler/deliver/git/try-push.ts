import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { redactUrl } from '../../model/repository-url.ts';
import { type Git, REMOTE, runGit, withRemote } from '../../load/sources/run-git.ts';
import { PLAIN } from './push-branch.ts';

/** A branch that no repository has. */
const BRANCH = 'refs/heads/fleet-ferry/tried-without-a-push';
const NOBODY = ['-c', 'user.name=Fleet Ferry', '-c', 'user.email=fleet-ferry@localhost'];

/**
 * Whether git's credentials may write to a repository: asks the server for a push of a new branch, and sends none (git push --dry-run).
 * Rules of single branches are judged by a push alone.
 * @throws FleetError SOURCE_UNREACHABLE, TOOL_MISSING
 */
export const tryPush = async (plain: Git, url: string): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-ferry-push-'));
  const at = ['--git-dir', folder];
  try {
    const run = async (args: readonly string[], input?: readonly Uint8Array[]): Promise<string> => {
      const { code, out, lastLine } = await runGit(withRemote(plain, url), args, input && { input });
      if (code === 0) return out.trim();
      throw new FleetError('SOURCE_UNREACHABLE', `${redactUrl(url)} could not be written to: ${lastLine}`, {
        subject: redactUrl(url),
        hint: 'Check the URL, the network, and that git’s credentials may write there',
      });
    };
    await run(['init', '--quiet', '--bare', '--template=', folder]);
    const tree = await run([...at, 'mktree'], [Buffer.alloc(0)]);
    const commit = await run([...NOBODY, ...at, 'commit-tree', '-m', 'A try', tree]);
    await run([...PLAIN, ...at, 'push', '--dry-run', '--no-verify', REMOTE, `${commit}:${BRANCH}`]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
