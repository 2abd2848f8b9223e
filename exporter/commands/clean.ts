import { join } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { isFolder } from '#bundles/formats/medium/plain-files';
import { ask } from '#cli/ask';
import { FleetCommand } from '#cli/fleet-command';
import { formatBytes } from '#cli/format-bytes';
import { findLeftovers } from '../reports/clean/find-leftovers.ts';
import { findOldMedia, mediaIn } from '../reports/clean/find-old-media.ts';
import type { Leftover, Leftovers } from '../reports/clean/leftover.ts';
import { removeFiles, removeLeftovers } from '../reports/clean/remove-leftovers.ts';
import { IDENTITY_FLAG, type OpenFlags, openForFiles, openOptions } from './open-given.ts';
import { parseRootDigest } from './root-digest.ts';
import { stoppable } from './stoppable.ts';
import { openAgents, AGENT_KEY_FLAGS } from './agent-key-flags.ts';

type Cleaned = Leftovers & {
  readonly bytes: number;
  /** False with --dry-run, and if there was nothing to remove. */
  readonly removed: boolean;
};

/** Options of the removal. */
type Job = Leftovers & { readonly remove: () => Promise<readonly Leftover[]> };

export default class Clean extends FleetCommand {
  static override summary =
    'Remove files of fleet-export that are no longer needed from a stick or an archive';
  static override description =
    'On a stick: reports that a verified receipt acknowledges, needs that a medium has answered, files of interrupted runs and ' +
    'parts of earlier sets. With --keep, in an archive folder of tar files and parts: all but the newest media of each set of ' +
    'sites and channels. Lists the files and their sizes, then asks. Other files are never removed.';
  static override examples = [
    '<%= config.bin %> clean /media/stick --root-sha256 3f0c... --dry-run',
    '<%= config.bin %> clean /srv/media --keep 3 --root-sha256 3f0c... --yes',
  ];
  static override strict = false;
  static override args = {
    medium: Args.string({ required: true, description: 'A stick, or with --keep an archive folder' }),
  };
  static override flags = {
    ...AGENT_KEY_FLAGS,
    ...IDENTITY_FLAG,
    keep: Flags.integer({ min: 1, description: 'Keep this many media of each set of sites and channels' }),
    'dry-run': Flags.boolean({ description: 'Only list what would be removed' }),
    yes: Flags.boolean({ char: 'y', description: 'Do not ask' }),
  };

  async run(): Promise<Cleaned> {
    const { argv, flags } = await this.parse(Clean);
    const now = this.readNow(flags.now);
    return stoppable(this.signal, 'Run it again: it continues with the rest', async () => {
      await using opened = new AsyncDisposableStack();
      const job =
        flags.keep === undefined
          ? await mediumJob(argv as string[], flags, { now, opened, signal: this.signal })
          : await archiveJob(argv as string[], flags.keep, flags);
      const { files, notes } = job;
      const bytes = files.reduce((total, file) => total + file.bytes, 0);
      this.show(job, bytes, argv.join(', '));
      if (files.length === 0 || flags['dry-run']) return { files, notes, bytes, removed: false };
      if (!flags.yes) await this.confirm(files.length);
      const removed = await job.remove();
      this.print(`${formatCount(removed.length, 'file')} removed`);
      return { files: removed, notes, bytes, removed: true };
    });
  }

  private show({ files, notes }: Leftovers, bytes: number, path: string): void {
    for (const note of notes) this.say(`Note: ${note}.`);
    if (files.length === 0) {
      this.print(`${path}: nothing to remove`);
      return;
    }
    this.print({
      head: ['FILE', 'SIZE', 'WHY'],
      rows: files.slice(0, SHOWN).map((file) => [file.path, formatBytes(file.bytes), file.why]),
    });
    if (files.length > SHOWN) this.print(`and ${files.length - SHOWN} more; --json has them all`);
    this.print(`${formatCount(files.length, 'file')}, ${formatBytes(bytes)}`);
  }

  private async confirm(count: number): Promise<void> {
    const answer = await ask(`Remove ${count} files? [y/N] `, { flag: '--yes', signal: this.signal });
    if (/^y(es)?$/i.test(answer.trim())) return;
    throw new FleetError('ABORTED', 'nothing was removed', { hint: 'Answer y to remove what is listed' });
  }
}

const SHOWN = 40;

type MediumFlags = Parameters<typeof openAgents>[1] & OpenFlags;

const mediumJob = async (
  media: readonly string[],
  flags: MediumFlags,
  {
    now,
    opened,
    signal,
  }: { readonly now: Date; readonly opened: AsyncDisposableStack; readonly signal: AbortSignal },
): Promise<Job> => {
  for (const path of media) await refuseArchive(path);
  const medium = opened.use(await openForFiles(media, flags, signal));
  if (medium.roots.length === 0) {
    throw new FleetError('USAGE', `${medium.path} is a file, and files inside of it cannot be removed`, {
      hint: 'Name the directory of a medium, or the folder of an archive and --keep',
    });
  }
  const agentsOf = await openAgents(medium, flags, now, opened);
  const found = await findLeftovers(medium, agentsOf, signal);
  const again = async (): Promise<readonly Leftover[]> =>
    (await findLeftovers(medium, agentsOf, signal)).files;
  return { ...found, remove: () => removeLeftovers(found.files, again, signal) };
};

/** Refuses a folder that holds tar files or parts and is not a medium itself. @throws FleetError USAGE */
const refuseArchive = async (path: string): Promise<void> => {
  if (!(await isFolder(path)) || (await isFolder(join(path, 'fleet')))) return;
  const count = (await mediaIn(path)).length;
  if (count === 0) return;
  const what = count === 1 ? 'a medium' : `${count} media`;
  throw new FleetError('USAGE', `${path} is an archive with ${what} as files, not a stick`, {
    hint: 'Give --keep: how many media of each set of sites and channels stay. --dry-run only lists the others',
  });
};

const archiveJob = async (
  [folder = '', second]: readonly string[],
  keep: number,
  flags: { readonly 'root-sha256'?: string | undefined; readonly identity?: readonly string[] | undefined },
): Promise<Job> => {
  if (second !== undefined) {
    throw new FleetError('USAGE', '--keep takes one archive folder at a time', {
      hint: `Run it again for ${second}`,
    });
  }
  const root = flags['root-sha256'];
  const found = await findOldMedia({
    folder,
    keep,
    pinned: root === undefined ? undefined : parseRootDigest(root),
    open: await openOptions(flags.identity ?? []),
  });
  const remove = async (): Promise<readonly Leftover[]> => {
    await removeFiles(found.files);
    return found.files;
  };
  return { ...found, remove };
};
