import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { auditLog } from '../hub/http/audit-log.ts';
import { openHub } from '../hub/open-hub.ts';
import { createToken } from '../hub/sites/tokens/create-token.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';
import { appendToLog } from './append-to-log.ts';
import { personAndReason, operatorFlag } from './person-flags.ts';

const HOUR_MS = 3_600_000;
const MAX_HOURS = 8;

export default class BreakGlass extends FleetCommand {
  static override description =
    "Create a code with which one person can sign in at the hub's page as an admin without the sign-in provider.\n\nThe code is shown once and can be used once, within 15 minutes. The session ends after --for. Every signed-in person sees name and reason, each decision names the override, and this command and the hub log it.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> --person mara --reason "login.example is down, line 3 stands still"',
    '<%= config.bin %> <%= command.id %> --person mara --reason "drill" --for 2h',
  ];
  static override flags = {
    ...hubFlags,
    operator: operatorFlag,
    person: Flags.string({ description: 'Person who gets the code, named in each decision', required: true }),
    reason: Flags.string({ description: 'Reason, shown to every signed-in person', required: true }),
    for: Flags.string({ description: `Lifetime of the session, 1h to ${MAX_HOURS}h`, default: '1h' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(BreakGlass);
    const now = this.readNow(flags.now);
    const [person, note] = [
      checkText('--person', flags.person, 150),
      checkText('--reason', flags.reason, 500),
    ];
    const expires = new Date(now.getTime() + parseHours(flags.for) * HOUR_MS);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()), {
      by: personAndReason({ person: flags.operator, reason: note }),
    });
    const { token, row } = await createToken(
      hub.store,
      { scope: 'break-glass', person },
      { note, expires, now },
    );
    const { id, expires_at: expiresAt } = row;
    for (const line of await appendToLog(hub, 'break-glass', now)) this.say(line);
    auditLog(process.stderr)?.warn(
      { token: id, person, reason: note, expiresAt },
      'BREAK-GLASS code created',
    );
    this.log(token);
    this.say(
      `Code ${id} for ${person}: an admin's session until ${expiresAt}, to be opened within 15 minutes. It is not shown again; "fleet-scheduler tokens revoke ${id}" ends code and session.`,
    );
    return { token, id, person, reason: note, expiresAt };
  }
}

/** @throws FleetError USAGE */
const checkText = (flag: string, text: string, most: number): string => {
  if (text.trim() !== '' && text.length <= most) return text;
  throw new FleetError('USAGE', `${flag} has 1 to ${most} characters`);
};

/** @throws FleetError USAGE */
const parseHours = (text: string): number => {
  const hours = Number(/^([1-9])h$/.exec(text)?.[1]);
  if (hours >= 1 && hours <= MAX_HOURS) return hours;
  throw new FleetError('USAGE', `--for ${JSON.stringify(text.slice(0, 80))} is not 1h to ${MAX_HOURS}h`);
};
