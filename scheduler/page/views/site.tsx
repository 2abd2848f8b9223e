import { Anchor, Group, Table, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { Audit, Events, Media, Status, StatusRow as Row } from '#bundles/schemas/types/hub-decisions';
import { audit, events, media, status, where } from '#bundles/transport/hub/client';
import { ask, given, refusedOr, Refusal } from '../api/ask.ts';
import { Age, At, SourceOf } from '../parts/age.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { HealthText } from '../parts/health-text.tsx';
import { isAboutChannels } from '../parts/happenings.ts';
import { HeldValues } from '../parts/held-values.tsx';
import { LongTable, type RowProps } from '../parts/long-table.tsx';
import { PackageNode } from '../parts/package-tree.tsx';
import { namesAt } from '../parts/names-at.ts';
import { SiteValues } from '../parts/site-values.tsx';
import { Judgement, State } from '../parts/state.tsx';
import { byTone, toneOf } from '../parts/tone.ts';
import { waitsFor } from '../parts/waits.ts';
import { Timeline } from './timeline.tsx';

type SiteAnswer = {
  readonly site: string;
  readonly status: Status;
  readonly media: Media;
  readonly events: Events;
  /** Decisions about the environments of its agents. */
  readonly entries: Audit['entries'];
  /** Versions that run, by '<agent> <assignment>', as people say them. */
  readonly names: ReadonlyMap<string, string>;
};

/** A site has a few agents; the limit is the largest that the hub allows. */
const AGENTS = 1000;
const EVENTS = 100;
/** Assignments of a site that are shown by agent. More are one table, which draws the rows in the window. */
const SECTIONS = 100;
const DECISIONS = 100;

export const readSite = async ({ params, request }: LoaderFunctionArgs): Promise<SiteAnswer> => {
  const { site = '' } = params;
  const cursor = new URL(request.url).searchParams.get('cursor');
  const { signal } = request;
  const [agents, carried, happened, running] = await Promise.all([
    ask((options) => status({ site, limit: AGENTS }, options), signal),
    ask((options) => media({ site, limit: AGENTS }, options), signal),
    ask((options) => events({ site, ...given({ cursor }), limit: EVENTS }, options), signal),
    refusedOr(ask((options) => where({ name: site, limit: AGENTS }, options), signal)),
  ]);
  const channels = agents.rows.map(({ channel }) => channel);
  const environments = [...new Set(channels.map(({ environment }) => environment))];
  const decided = await Promise.all(
    environments.map((environment) =>
      ask((options) => audit({ environment, limit: DECISIONS }, options), signal),
    ),
  );
  return {
    site,
    status: agents,
    media: carried,
    events: happened,
    entries: decided.flatMap(({ entries }) => entries).filter((entry) => isAboutChannels(entry, channels)),
    names: running instanceof Refusal ? new Map() : namesAt(site, running),
  };
};

/** The running packages of each agent of a site, the age and source of its reports, and its history. */
export const SiteView = () => {
  const { site, status, media, events, entries, names } = useLoaderData<SiteAnswer>();
  const agents = [...Map.groupBy(status.rows, ({ agent }) => agent)];
  const carriedTo = new Map(media.agents.map((one) => [one.agent.replace(`${site}/`, ''), one]));
  const assignments = worstFirst(status.rows);
  const isLong = agents.length > 1 && assignments.length > SECTIONS;
  return (
    <>
      <title>{`Site ${site} - Fleet Ferry`}</title>
      <Title order={1}>Site {site}</Title>
      <Summary site={site} rows={status.rows} now={status.at} />
      {agents.length === 0 && <Text>No agent of this site is enrolled.</Text>}
      {status.alarms.map(({ agent, code, message, raisedAt }) => (
        <Text key={`${agent} ${code} ${raisedAt}`}>
          Alarm {code} of {agent}, <Age at={raisedAt} now={status.at} />: {message}
        </Text>
      ))}
      {status.heldSites.map((held) => (
        <HeldValues key={held.site} held={held} now={status.at} />
      ))}
      {agents.map(([agent, rows]) => (
        <Agent key={agent} name={agent} rows={rows} carried={carriedTo.get(agent)} now={status.at}>
          {!isLong && (
            <Assignments
              label={`Assignments of ${agent}`}
              rows={worstFirst(rows)}
              carriedTo={carriedTo}
              names={names}
              now={status.at}
            />
          )}
        </Agent>
      ))}
      {isLong && (
        <Assignments
          label="Assignments of all agents"
          rows={assignments}
          carriedTo={carriedTo}
          names={names}
          now={status.at}
          hasAgents
        />
      )}
      {agents.length > 0 && <SiteValues site={site} />}
      <Timeline answer={events} entries={entries} />
    </>
  );
};

/** The assignments among the rows. */
const worstFirst = (rows: readonly Row[]): readonly Row[] => rows.filter(isAssigned).toSorted(byTone);

/** The state of the whole site in one line, and the views that have more about it. */
const Summary = ({
  site,
  rows,
  now,
}: {
  readonly site: string;
  readonly rows: readonly Row[];
  readonly now: string;
}) => {
  const heard =
    rows
      .flatMap(({ heardAt }) => heardAt ?? [])
      .toSorted()
      .at(-1) ?? null;
  const verdicts = Map.groupBy(rows.toSorted(byTone), (row) => `${toneOf(row)} ${row.verdict}`);
  return (
    <Group gap="sm" my="xs">
      {[...verdicts].map(
        ([key, of]) =>
          of[0] && <State key={key} mood={toneOf(of[0])}>{`${of.length} ${of[0].verdict}`}</State>,
      )}
      {rows.length > 0 && (
        <Text size="sm" c="dimmed">
          Compared <Age at={oldestOf(rows)} now={now} />, heard <Age at={heard} now={now} />.
        </Text>
      )}
      <Anchor component={Link} to={`/values/${site}`} size="sm">
        Values
      </Anchor>
      <Anchor component={Link} to={`/media?site=${site}`} size="sm">
        Media
      </Anchor>
      <Anchor component={Link} to={`/where?name=${site}`} size="sm">
        What ran here
      </Anchor>
    </Group>
  );
};

const isAssigned = ({ assignment }: Row): boolean => assignment !== null;

/** An agent is as old as the assignment that it compared longest ago. */
const oldestOf = (rows: readonly Row[]): Row['saidAt'] =>
  rows.some(({ saidAt }) => saidAt === null)
    ? null
    : (rows.flatMap(({ saidAt }) => saidAt ?? []).toSorted()[0] ?? null);

type Carried = Media['agents'][number] | undefined;

type AgentProps = {
  readonly name: string;
  readonly rows: readonly Row[];
  /** For an agent that only media reach. */
  readonly carried: Carried;
  readonly now: string;
  /** Its assignments. */
  readonly children: ReactNode;
};

const Agent = ({ name, rows, carried, now, children }: AgentProps) => {
  const [first] = rows;
  if (first === undefined) return null;
  const { channel, heardAt, silent, stopped, held, reboot, follower } = first;
  const saidAt = oldestOf(rows);
  return (
    <section aria-labelledby={`agent-${name}`}>
      <Title order={2} id={`agent-${name}`}>
        {name}
      </Title>
      <Text>
        {channel.environment}/{channel.clusterType}. Last word <Age at={saidAt} now={now} />, last heard{' '}
        <Age at={heardAt} now={now} />
        {silent ? '; it was online and is silent now' : ''}
        {stopped ? '; its service is not running, so nothing is compared or corrected there' : ''}.
        {follower !== null && ` Notifications of ${follower}, which nobody signed.`}
      </Text>
      {carried !== undefined && <Visits carried={carried} now={now} />}
      {held !== null && (
        <Text>
          Held since <Age at={held.since} now={now} />
          {held.by !== null && ` by ${held.by}`}
          {held.until === null ? ', until it is released' : `, until ${held.until}`}:{' '}
          {held.reason ?? 'no reason given'}.
        </Text>
      )}
      {reboot && (
        <Text>
          Needs a reboot since <Age at={reboot.since} now={now} />: {reboot.causes}
          {reboot.waits !== null && `; waits for ${reboot.waits}`}.
        </Text>
      )}
      {rows.some(isAssigned) ? children : <Judgement row={first} />}
      {rows.some(isAssigned) && (
        <details className="packages">
          <summary>Packages of {name}, down to their objects</summary>
          {worstFirst(rows).map(
            (row) =>
              row.assignment !== null && (
                <PackageNode
                  key={row.assignment}
                  agent={`${row.site}/${name}`}
                  assignment={row.assignment}
                  now={now}
                >
                  <Judgement row={row} />
                </PackageNode>
              ),
          )}
        </details>
      )}
    </section>
  );
};

/** Media returned from the site, and the expected visit. */
const Visits = ({
  carried: { accepted, acknowledged, visit },
  now,
}: {
  readonly carried: NonNullable<Carried>;
  readonly now: string;
}) => (
  <Text>
    Only media reach it.{' '}
    {accepted === null ? (
      'It imported nothing that it reported.'
    ) : (
      <>
        It imported release {accepted.version}, <Age at={accepted.at} now={now} />.
      </>
    )}{' '}
    {acknowledged > 0 && `The hub acknowledged its events up to ${acknowledged}. `}
    {visit !== null && (
      <>
        The next visit is {visit.isOverdue ? 'overdue since' : 'expected by'} <At at={visit.expectedBy} />.
      </>
    )}
  </Text>
);

type AssignmentsProps = {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly carriedTo: ReadonlyMap<string, NonNullable<Carried>>;
  readonly names: SiteAnswer['names'];
  readonly now: string;
  readonly hasAgents?: boolean;
};

const HEADINGS = ['Assignment', 'State', 'Waits for', 'Wanted', 'Runs', 'Health', 'Drift'];

const Assignments = ({ label, rows, carriedTo, names, now, hasAgents = false }: AssignmentsProps) => (
  <LongTable
    label={label}
    headings={hasAgents ? [...HEADINGS, 'Agent'] : HEADINGS}
    rows={rows}
    textOf={({ agent, assignment, verdict }) => `${agent} ${assignment} ${verdict}`}
  >
    {(row, props) => (
      <Assignment
        key={`${row.agent} ${row.assignment}`}
        row={row}
        carried={carriedTo.get(row.agent)}
        name={names.get(`${row.agent} ${row.assignment}`)}
        now={now}
        hasAgent={hasAgents}
        props={props}
      />
    )}
  </LongTable>
);

type AssignmentProps = {
  readonly row: Row;
  readonly carried: Carried;
  /** Its running version. */
  readonly name: string | undefined;
  readonly now: string;
  readonly hasAgent: boolean;
  readonly props: RowProps;
};

const Assignment = ({ row, carried, name, now, hasAgent, props }: AssignmentProps) => {
  const { site, agent, assignment, desired, running, health, drift } = row;
  return (
    <Table.Tr {...props}>
      <Table.Th scope="row">
        <Anchor component={Link} to={`/sites/${site}/${agent}/${assignment}`}>
          {assignment}
        </Anchor>
      </Table.Th>
      <Table.Td>
        <Judgement row={row} />
      </Table.Td>
      <Table.Td>{waitsFor(row, carried) ?? 'nothing'}</Table.Td>
      <Table.Td>
        {desired === null ? (
          'nothing'
        ) : (
          <>
            release {desired.version}{' '}
            {desired.package !== running?.package && <ShortDigest of={desired.package} />}
          </>
        )}
      </Table.Td>
      <Table.Td>
        <Running running={running} name={name} now={now} />
      </Table.Td>
      <Table.Td>
        <HealthText health={health} now={now} />
      </Table.Td>
      <Table.Td>
        <DriftText drift={drift} now={now} />
      </Table.Td>
      {hasAgent && <Table.Td>{agent}</Table.Td>}
    </Table.Tr>
  );
};

type PackageNameProps = { readonly digest: string; readonly name: string | undefined };

const PackageName = ({ digest, name }: PackageNameProps) =>
  name === undefined ? <ShortDigest of={digest} /> : <span title={digest}>{name}</span>;

type RunningProps = Pick<AssignmentProps, 'name' | 'now'> & { readonly running: Row['running'] };

const Running = ({ running, name, now }: RunningProps) => {
  if (!running) return 'never reported';
  return (
    <>
      {running.package ? <PackageName digest={running.package} name={name} /> : 'nothing'}
      {running.version ? ` release ${running.version}` : ''}
      <SourceOf cell={running} now={now} />
    </>
  );
};

const DriftText = ({ drift, now }: { readonly drift: Row['drift']; readonly now: string }) => {
  if (!drift) return 'never reported';
  return (
    <>
      {drift.drifted ? 'drifted' : 'none'}
      {drift.message && <Text size="sm">{drift.message}</Text>}
      <SourceOf cell={drift} now={now} />
    </>
  );
};
