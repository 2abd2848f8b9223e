import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { type ListedSession, listSessions } from '../../hub/people/list-sessions.ts';
import { lifetimesOf } from '../../hub/people/read-people.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';

export default class SessionsList extends FleetCommand {
  static override description = "List the sessions at the hub's page: person, start and end.";
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SessionsList);
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration);
    const { idleMs } = lifetimesOf(configuration);
    const sessions = await listSessions(hub.store.db, { now: this.readNow(flags.now), idleMs });
    this.print({ rows: sessions.map(describeSession) });
    if (sessions.length === 0) this.log('No session in the last 30 days.');
    return { sessions };
  }
}

const describeSession = ({
  id,
  kind,
  person,
  state,
  createdAt,
  endsAt,
  endedWhy,
}: ListedSession): readonly string[] => [
  id,
  kind,
  person,
  `since ${createdAt}`,
  state === 'open' ? `until ${endsAt}` : `ended${endedWhy === null ? '' : `: ${endedWhy}`}`,
];
