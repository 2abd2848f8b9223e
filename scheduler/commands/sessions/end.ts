import { Args } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { FleetCommand } from '#cli/fleet-command';
import { auditLog } from '../../hub/http/audit-log.ts';
import { openHub } from '../../hub/open-hub.ts';
import { endSessionsOf } from '../../hub/people/session.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { requireReason, removalReasonFlags } from '../person-flags.ts';

export default class SessionsEnd extends FleetCommand {
  static override description =
    'End a session, or all of a person, from the next request on. Also remove the person at the sign-in provider or from the roles, or they sign in again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 5f3c0a91b2d4 --reason "laptop lost"',
    '<%= config.bin %> <%= command.id %> mara@example.com --reason "left the company"',
  ];
  static override args = {
    session: Args.string({ required: true, description: 'Its name, as sessions list shows it, or a person' }),
  };
  static override flags = { ...hubFlags, ...removalReasonFlags };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SessionsEnd);
    const now = this.readNow(flags.now);
    const configuration = await readConfiguration(flags, process.cwd());
    const by = await requireReason(flags, `the sessions of ${args.session} end with the next request`, {
      json: this.jsonEnabled(),
      signal: this.signal,
    });
    await using hub = await openHub(configuration, { by });
    const ended = await endSessionsOf(hub.store, args.session, { why: 'ended at the office', now });
    if (ended === 0)
      throw new FleetError('USAGE', `there is no open session ${JSON.stringify(args.session.slice(0, 80))}`, {
        hint: 'See fleet-scheduler sessions list',
      });
    for (const line of await appendToLog(hub, 'sessions end', now)) this.say(line);
    auditLog(process.stderr)?.info({ session: args.session, ended }, 'sessions ended');
    this.log(`${formatCount(ended, 'session')} of ${args.session} ended`);
    return { ended };
  }
}
