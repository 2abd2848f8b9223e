import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { type ListedToken, listTokens } from '../../hub/sites/tokens/list-tokens.ts';

export default class TokensList extends FleetCommand {
  static override description =
    "List the tokens, their purpose, and whether they were used.\n\nThe tokens themselves are not stored; a name is the beginning of a token's hash.";
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(TokensList);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const tokens = await listTokens(hub.store.db, this.readNow(flags.now));
    this.print({ rows: tokens.map(describeToken) });
    if (tokens.length === 0)
      this.log('No token yet. Create one with: fleet-scheduler tokens create --site <name>');
    return { tokens };
  }
}

const describeToken = (token: ListedToken): readonly string[] => [
  token.id,
  token.scope,
  token.for ?? '',
  token.channel ?? '',
  token.person ?? '',
  token.allowances.join(' '),
  token.state === 'used'
    ? `used ${token.usedAt} by ${token.usedBy}`
    : `${token.state}, until ${token.expiresAt}`,
  token.note ?? '',
];
