import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseTime } from '#bundles/time';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { FleetCommand } from '#cli/fleet-command';
import { openDestination } from '../deliver/send/open-destination.ts';
import { noteChange } from '../hub/changes/note-change.ts';
import { openHub } from '../hub/open-hub.ts';
import { type Backup, putBack, readBackup } from '../hub/upkeep/backup/backup.ts';
import { moveNumbersPast } from '../hub/upkeep/backup/move-past.ts';
import type { RepeatedChanges } from '../hub/upkeep/backup/repeat-changes.ts';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { beginRestore, endRestore, RESTORE } from '../release/write/unfinished-restore.ts';
import { readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags, hubFlags, registryFlags } from '../settings/configuration-flags.ts';
import { appendToLog } from './append-to-log.ts';
import { personFlags, personAndReason } from './person-flags.ts';

/** Numbers a second that a channel may have given out since the backup: a release takes longer. */
const PER_SECOND = 1;
/** An older backup has a wrong date, which would skip as many numbers as the seconds since then. */
const MAX_AGE_SECONDS = 10 * 366 * 86_400;

const describeChanges = ({ agents, tokens, sessions, lost }: RepeatedChanges): readonly string[] => [
  ...agents.map((id) => `${id} is revoked again: it was revoked, or got another key, after the backup`),
  ...tokens.map(
    (id) => `the token ${id} is revoked again: it was revoked or may have been used after the backup`,
  ),
  ...(sessions > 0 ? [`${sessions} open sessions ended: people sign in again`] : []),
  ...lost.map(
    ({ change, about, person, reason, time }) =>
      `not in the restored database, make it again: ${change} ${about} of ${time}${person === null ? '' : ` by ${person}`}${reason === null || reason === '' ? '' : `: ${reason}`}`,
  ),
];

/** Where nothing is restored yet there is nothing to keep others from. */
const beginInPlace = async (layout: string, from: string, { at }: Backup): Promise<void> => {
  await openLayout(layout);
  await beginRestore(layout, { from: `${resolve(from)} --in-place`, at });
};

export default class Restore extends FleetCommand {
  static override summary = 'Restore a backup without reusing numbers';
  static override description =
    "Copies the layout and the SQLite database of a backup to empty places. Then it makes sure that the next releases, leases and site statements have higher numbers than any that may have been issued since the backup: it reads those of the layout, of agents' reports, and of the registry, whose newer entries of the audit log it reads back, and adds a margin that grows with the time since the backup. Agents and tokens that were revoked after the backup, as the audit log says, are revoked again, all sessions end, and other changes that the database lacks are named.\n\nWith --in-place nothing is copied: for a layout and a database that were restored in another way, such as pg_restore. Stop every hub before.\n\nIf interrupted, the same call continues. Until it has ended, no other command writes to the layout or the database.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> /backup/2026-11-26',
    '<%= config.bin %> <%= command.id %> /backup/2026-11-26 --in-place',
  ];
  static override args = {
    folder: Args.string({ required: true, description: 'Folder that backup wrote' }),
  };
  static override flags = {
    ...hubFlags,
    ...registryFlags,
    registry: configurationFlags.registry,
    ...personFlags,
    'in-place': Flags.boolean({ description: 'Layout and database are restored already' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Restore);
    const now = this.readNow(flags.now);
    const { signal } = this;
    const configuration = await readConfiguration(flags, process.cwd());
    const [layout, db] = [requireSetting(configuration, 'layout'), requireSetting(configuration, 'db')];
    const { root } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const backup = await readBackup(args.folder, root.fleet);
    const seconds = Math.ceil((now.getTime() - parseTime(backup.at).getTime()) / 1000);
    if (seconds < 0)
      throw new FleetError(
        'FROM_FUTURE',
        `the backup is of ${backup.at}, which is in the future by the clock of this machine`,
        {
          hint: 'Set the clock',
        },
      );
    if (seconds > MAX_AGE_SECONDS)
      throw new FleetError('USAGE', `the backup is of ${backup.at}: more than ten years old`, {
        hint: 'Correct "at" in its backup.json, or the clock of this machine',
      });
    if (flags['in-place']) await beginInPlace(layout, args.folder, backup);
    else await putBack(resolve(args.folder), backup, { layout, db }, signal);
    await using hub = await openHub(configuration, { restoring: true, by: personAndReason(flags) });
    const { registry } = configuration;
    await using stack = new AsyncDisposableStack();
    const access = registryOptions({ ...configuration, env: process.env });
    const destination =
      registry === undefined ? undefined : stack.use(await openDestination(registry, access, now));
    const moved = await moveNumbersPast(hub, {
      now,
      signal,
      command: RESTORE,
      destination,
      margin: PER_SECOND * seconds,
      backup: backup.numbers,
      savedAt: backup.at,
    });
    for (const [channel, number] of Object.entries(moved.floors.releases))
      if (channel !== '*') this.log(`${channel}: the next release has a number above ${number}`);
    if (moved.entries > 0)
      this.log(`${moved.entries} entries of the audit log were read back from ${registry}`);
    if (registry === undefined)
      this.warn(
        'no registry was asked: decisions made after the backup are not in the audit log, and agents, tokens and bundles that were revoked since count again until you revoke them again',
      );
    for (const one of moved.implausible)
      this.warn(`${one} is ignored: no signed release or statement has a number near it`);
    for (const line of describeChanges(moved.changes)) this.say(line);
    const change = { change: 'restore', about: 'hub', old: null, new: { backupAt: backup.at } };
    await hub.store.transact((tx) => noteChange(tx, change, hub.store.by, now));
    for (const line of await appendToLog(hub, RESTORE, now)) this.say(line);
    await endRestore(layout);
    return { at: backup.at, ...moved };
  }
}
