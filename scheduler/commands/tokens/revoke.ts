import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/hub.ts';
import { revokeToken } from '../../hub/sites/tokens/list-tokens.ts';
import { auditLog } from '../../hub/http/audit-log.ts';

export default class TokensRevoke extends FleetCommand {
  static override description =
    'Revoke a token. An agent that was enrolled with it stays; remove it with sites revoke.';
  static override examples = ['<%= config.bin %> <%= command.id %> 5f3c0a91b2d4'];
  static override args = {
    token: Args.string({ required: true, description: 'Its name, as tokens list shows it' }),
  };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(TokensRevoke);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const changed = await revokeToken(hub.store, args.token, this.readNow(flags.now));
    if (changed) auditLog(process.stderr)?.info({ token: args.token }, 'token revoked');
    this.log(changed ? `${args.token} is revoked` : `${args.token} was revoked before; nothing changed`);
    return { id: args.token, changed };
  }
}
