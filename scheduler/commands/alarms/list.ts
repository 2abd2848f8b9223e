import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { FleetCommand } from '#cli/fleet-command';
import { listAlarms, type Silence } from '../../hub/alarms/list-alarms.ts';
import { type Cause, listCauses } from '../../hub/alarms/list-causes.ts';
import { listPast } from '../../hub/alarms/list-past.ts';
import { openHub } from '../../hub/open-hub.ts';
import { parseLimit } from '../../hub/page.ts';
import { formatAge } from '../../hub/questions/status/format-age.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';

export default class AlarmsList extends FleetCommand {
  static override description =
    'Show open alarms, one entry for each cause: the same failure at twelve sites is one.\n\nThe hub looks for alarms while it runs. The id of a cause, or of one alarm (--cause), is for "alarms acknowledge" and "alarms silence".';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --workspace labels',
    '<%= config.bin %> <%= command.id %> --cause cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f',
    '<%= config.bin %> <%= command.id %> --past',
  ];
  static override flags = {
    ...hubFlags,
    environment: Flags.string({ char: 'e', description: 'Only alarms about this environment' }),
    site: Flags.string({ description: 'Only alarms at this site' }),
    workspace: Flags.string({ description: 'Only alarms of assignments of this workspace' }),
    cause: Flags.string({ description: 'Each alarm of this cause', exclusive: ['past'] }),
    past: Flags.boolean({ description: 'Alarms of the last 90 days that are over, the newest end first' }),
    limit: Flags.string({ description: 'Entries of a page, 1 to 1000 [default: 100]' }),
    cursor: Flags.string({ description: 'End of the previous page' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(AlarmsList);
    const { cause } = flags;
    const name = (text: string | undefined, what: 'environment' | 'site' | 'workspace') =>
      text === undefined ? undefined : parseName(text, what);
    const asked = {
      environment: name(flags.environment, 'environment'),
      site: name(flags.site, 'site'),
      workspace: name(flags.workspace, 'workspace'),
    };
    const page = { limit: parseLimit(flags.limit), cursor: flags.cursor };
    const now = this.readNow(flags.now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const { db } = hub.store;
    if (flags.past) {
      const past = await listPast(db, asked, page);
      for (const { kind, summary, openedAt, goneAt, acknowledgedBy } of past.alarms)
        this.log(
          `${goneAt}  ${kind}  open since ${openedAt}${acknowledgedBy === null ? ', resolved without a person' : `, acknowledged by ${acknowledgedBy}`}\n    ${summary}`,
        );
      if (past.alarms.length === 0) this.log('No alarm of the last 90 days is over.');
      this.#next(past.next);
      return { fleet: hub.store.fleet, at: formatTime(now), ...past };
    }
    if (cause !== undefined) {
      const alarms = await listAlarms(db, { ...asked, cause }, page, now);
      for (const { id, severity, since, summary, acknowledged, silenced } of alarms.alarms) {
        this.log(`${id}  ${severity}  ${formatAge(since, now)}`);
        this.log(`    ${summary}`);
        if (acknowledged) this.log(`    acknowledged by ${acknowledged.person}: ${acknowledged.reason}`);
        if (silenced) this.log(`    ${describeSilence(silenced)}`);
      }
      this.#next(alarms.next);
      return { fleet: hub.store.fleet, at: formatTime(now), ...alarms };
    }
    const causes = await listCauses(db, asked, page, now);
    for (const one of causes.causes) for (const line of causeLines(one, now)) this.log(line);
    this.log(
      causes.total === 0
        ? 'No alarm is open.'
        : `${causes.alarms} open, of ${causes.total} cause${causes.total === 1 ? '' : 's'}.`,
    );
    this.#next(causes.next);
    return { fleet: hub.store.fleet, at: formatTime(now), ...causes };
  }

  #next(cursor: string | null): void {
    if (cursor !== null) this.log(`More: --cursor ${cursor}`);
  }
}

const causeLines = (cause: Cause, now: Date): readonly string[] => {
  const { id, kind, severity, alarms, sites, firstSites, since, owner, environment, by, silence } = cause;
  const where =
    sites === 0
      ? ''
      : ` at ${sites} site${sites === 1 ? '' : 's'}: ${firstSites.join(', ')}${sites > firstSites.length ? ' ...' : ''}`;
  return [
    `${severity}  ${[kind, cause.cause].filter((word) => word !== '').join(' ')}${where}`,
    `    ${[environment, cause.assignment, owner === null ? undefined : `owner ${owner}`, alarms === 1 ? undefined : `${alarms} alarms`, `since ${formatAge(since, now)}`].filter((word) => word !== undefined && word !== null).join(', ')}`,
    `    ${cause.summary}`,
    ...(by ? [`    acknowledged by ${by.person} (${cause.acknowledged} of ${alarms}): ${by.reason}`] : []),
    ...(silence ? [`    ${describeSilence(silence)}`] : []),
    `    ${cause.action}`,
    `    ${id}`,
  ];
};

const describeSilence = ({ person, until, reason }: Silence): string =>
  `silenced by ${person} until ${until}: ${reason}`;
