import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { parseTime } from '#bundles/time';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { FleetCommand } from '#cli/fleet-command';
import { openDestination } from '../deliver/send/open-destination.ts';
import { noteChange } from '../hub/changes/note-change.ts';
import { openHub } from '../hub/hub.ts';
import { putBack, readBackup } from '../hub/upkeep/backup/backup.ts';
import { moveNumbersPast } from '../hub/upkeep/backup/move-past.ts';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags, hubFlags, registryFlags } from '../settings/configuration-flags.ts';
import { appendToLog } from './append-to-log.ts';
import { byFlags, byOf } from './by-flags.ts';

/** Numbers a second that a channel may have given out since the backup: a release takes longer. */
const PER_SECOND = 1;

export default class Restore extends FleetCommand {
  static override summary = 'Restore a backup without reusing numbers';
  static override description =
    "Copies the layout and the SQLite database of a backup to empty places. Then it makes sure that the next releases, leases and site statements have higher numbers than any that may have been issued since the backup: it reads those of the layout, of agents' reports, and of the registry, whose newer entries of the audit log it reads back, and adds a second's worth for each second since the backup.\n\nWith --in-place nothing is copied: for a layout and a database that were restored in another way, such as pg_restore. Stop every hub before.";
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
    ...byFlags,
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
    if (!flags['in-place']) await putBack(args.folder, backup, { layout, db }, signal);
    await using hub = await openHub(configuration, { by: byOf(flags) });
    const { registry } = configuration;
    await using stack = new AsyncDisposableStack();
    const access = registryOptions({ ...configuration, env: process.env });
    const destination =
      registry === undefined ? undefined : stack.use(await openDestination(registry, access, now));
    const moved = await moveNumbersPast(hub, {
      now,
      signal,
      command: 'restore',
      destination,
      margin: PER_SECOND * seconds,
      backup: backup.numbers,
    });
    for (const [channel, number] of Object.entries(moved.floors.releases))
      if (channel !== '*') this.log(`${channel}: the next release has a number above ${number}`);
    if (moved.entries > 0)
      this.log(`${moved.entries} entries of the audit log were read back from ${registry}`);
    if (registry === undefined)
      this.warn('no registry was asked: decisions made after the backup are not in the audit log');
    const change = { change: 'restore', about: 'hub', old: null, new: { backupAt: backup.at } };
    await hub.store.transact((tx) => noteChange(tx, change, hub.store.by, now));
    for (const line of await appendToLog(hub, 'restore', now)) this.say(line);
    return { at: backup.at, ...moved };
  }
}
