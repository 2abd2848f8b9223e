import { Flags } from '@oclif/core';
import { FleetError, formatError } from '#bundles/errors';
import { formatChannel, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { resumeChannel, rollBackChannel, rollBackOne } from '../../hub/promote/decide/roll-back-channel.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { personOf } from '../person-flags.ts';
import { decisionFlags } from '../gate/open-gate.ts';

const { config, keys, layout } = configurationFlags;

export default class ReleasesRollback extends FleetCommand {
  static override description =
    `Release the bundles of an older release again, under the next number; or take one assignment back.

Nothing is built. Builds do not release the bundle that was left again, until the channel is built as another one or --resume ends
it: undo the change in the repositories, too. \`revoke\` withdraws a bundle for good.

With --assignment only that one goes back to the package of the older release, with the next build. It stays there until another
candidate is promoted to the environment; where nothing is promoted, until it is built as another package; or until --resume.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/factory-host --to 7 --reason "labels are blank"',
    '<%= config.bin %> <%= command.id %> --channel prod/factory-host --to 7 --assignment label-printer-host --reason "labels are blank"',
    '<%= config.bin %> <%= command.id %> --channel prod/factory-host --resume --reason "corrected in 1.4.1"',
    '<%= config.bin %> <%= command.id %> --channel prod/factory-host --assignment label-printer-host --resume --reason "corrected in 1.4.1"',
  ];
  static override flags = {
    config,
    keys,
    layout,
    channel: Flags.string({ required: true, description: 'The channel, environment/cluster type' }),
    to: Flags.integer({ min: 1, description: 'Number of the release to go back to' }),
    assignment: Flags.string({ description: 'Roll back only this assignment' }),
    resume: Flags.boolean({
      description: 'End the rollback of the channel, or of the assignment',
      exclusive: ['to'],
    }),
    ...decisionFlags,
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ReleasesRollback);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const channel = parseChannel(flags.channel);
    const { assignment, to } = flags;
    if (to === undefined && !flags.resume)
      throw new FleetError('USAGE', '--to is missing', {
        hint: 'Give the number of a release; fleet-scheduler releases list shows them',
      });
    const reason =
      flags.reason ?? (assignment === undefined && to !== undefined ? `back to release ${to}` : undefined);
    if (reason === undefined)
      throw new FleetError('USAGE', '--reason is missing', { hint: 'It is signed into the audit log' });
    const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const directory = requireSetting(configuration, 'layout');
    const request = { channel, person: personOf(flags), reason, now, signal: this.signal };
    const name = formatChannel(channel);
    if (assignment === undefined && to === undefined) {
      const { outcome } = await resumeChannel(keyDirectory, directory, request);
      this.log(
        `${name}: ${outcome === 'decided' ? 'is not rolled back any more' : 'it was not rolled back'}`,
      );
      return { channel: name, decision: 'resume', outcome };
    }
    if (assignment === undefined) {
      const { release, expires, leaseVoid } = await rollBackChannel(keyDirectory, directory, {
        ...request,
        to: to ?? 0,
      });
      if (leaseVoid) this.say(`its lease is now void: ${formatError(leaseVoid)}`);
      this.log(`${name}: release ${release} brings back the bundles of release ${to}, until ${expires}`);
      this.say(
        keyDirectory.root.audit.length > 0
          ? 'It lasts until the channel is built as another bundle: revert the change in the repositories, too.'
          : 'The root has no audit key: the next build releases the state of the repositories. Revert the change there, too.',
      );
      return { channel: name, release, to, expires };
    }
    const decided = await rollBackOne(keyDirectory, directory, { ...request, assignment, to });
    const what =
      to === undefined ? 'is not rolled back any more' : `goes back to its package of release ${to}`;
    if (decided.outcome === 'unchanged')
      this.log(
        `${name}: ${assignment}: ${to === undefined ? 'it was not rolled back' : 'this was decided before'}`,
      );
    else {
      this.log(`${name}: ${assignment} ${what}`);
      this.say(`The next build releases it: fleet-scheduler build --environment ${channel.environment}`);
    }
    return decided;
  }
}
