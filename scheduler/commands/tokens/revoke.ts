import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { auditLog } from '../../hub/http/audit-log.ts';
import { openHub } from '../../hub/open-hub.ts';
import { revokeToken } from '../../hub/sites/tokens/list-tokens.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { requireReason, removalReasonFlags } from '../person-flags.ts';

export default class TokensRevoke extends FleetCommand {
  static override description =
    'Revoke a token. An agent that was enrolled with it stays; remove it with sites revoke.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 5f3c0a91b2d4 --reason "the stick was lost"',
  ];
  static override args = {
    token: Args.string({ required: true, description: 'Its name, as tokens list shows it' }),
  };
  static override flags = { ...hubFlags, ...removalReasonFlags };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(TokensRevoke);
    const now = this.readNow(flags.now);
    const configuration = await readConfiguration(flags, process.cwd());
    const by = await requireReason(
      flags,
      `the token ${args.token} is refused from now on, and a session that it opened ends`,
      {
        json: this.jsonEnabled(),
        signal: this.signal,
      },
    );
    await using hub = await openHub(configuration, { by });
    const changed = await revokeToken(hub.store, args.token, now);
    for (const line of await appendToLog(hub, 'tokens revoke', now)) this.say(line);
    if (changed) auditLog(process.stderr)?.info({ token: args.token }, 'token revoked');
    this.log(changed ? `${args.token} is revoked` : `${args.token} was revoked before; nothing changed`);
    return { id: args.token, changed };
  }
}
