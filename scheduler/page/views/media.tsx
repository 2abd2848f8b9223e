import { Anchor, Code, Table, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { Media } from '#bundles/schemas/types/hub-decisions';
import { media } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { Age, At } from '../parts/age.tsx';
import type { Facet } from '../parts/facet.ts';
import { type Column, FilteredTable } from '../parts/filtered-table.tsx';
import type { Order } from '../parts/order.ts';
import { Journey, type Step } from '../parts/journey.tsx';
import { isAwaited, nextMedia, type NextMedium } from '../parts/next-media.ts';
import { NextContent } from '../parts/next-content.tsx';
import { Pages } from '../parts/pages.tsx';
import { NAMED, SiteLinks } from '../parts/site-links.tsx';
import { State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';

/** Agents that one answer has, and that choices are counted among. */
const AGENTS = 1000;

export const readMedia = async ({ request }: LoaderFunctionArgs): Promise<Media> => {
  const query = new URL(request.url).searchParams;
  const asked = given({
    environment: query.get('environment'),
    site: query.get('site'),
    cursor: query.get('cursor'),
  });
  return ask((options) => media({ ...asked, limit: AGENTS }, options), request.signal);
};

/** Returned media, the release to carry to each agent without a network, and the expected visits. */
export const MediaView = () => {
  const { at, arrivals, underway, agents, next } = useLoaderData<Media>();
  const [query] = useSearchParams();
  const awaited = agents.filter((one) => isAwaited(one)).length;
  const overdue = agents.filter(({ visit }) => visit?.isOverdue === true).length;
  const counted = countedOf(query.has('cursor'), next !== null);
  return (
    <>
      <title>Media - Fleet Ferry</title>
      <Title order={1}>Media</Title>
      <Text>
        {counted === null ? formatCount(awaited, 'agent') : `Of ${counted}, ${awaited}`}{' '}
        {awaited === 1 ? 'has not said that it' : 'have not said that they'} imported the newest release, and
        at {overdue} the next visit is overdue.
      </Text>
      <Underway media={underway} agents={agents} counted={counted} now={at} />
      <Next media={nextMedia(agents)} counted={counted} site={query.get('site') || undefined} />
      {arrivals.length > 0 && <Arrivals arrivals={arrivals} now={at} />}
      <Title order={2}>Agents that media reach</Title>
      <FilteredTable
        label="Agents that media reach"
        noun="agents"
        rows={agents}
        keyOf={({ agent }) => agent}
        columns={columnsAt(at)}
        facets={FACETS}
        orders={ORDERS}
        hasMore={next !== null}
      />
      <Pages next={next} />
    </>
  );
};

/** Names the agents that counts are about where the answer has a part of them; null: it has all. */
const countedOf = (isLater: boolean, hasMore: boolean): string | null => {
  if (isLater) return 'the agents of this page';
  return hasMore ? `the first ${AGENTS.toLocaleString('en')} agents` : null;
};

type Counted = { readonly counted: string | null };

type Carried = Media['agents'][number];

const VISITS = { overdue: 'overdue', expected: 'expected', none: 'no interval' } as const;

const visitOf = ({ visit }: Carried): keyof typeof VISITS => {
  if (visit === null) return 'none';
  return visit.isOverdue ? 'overdue' : 'expected';
};

const FACETS: readonly Facet<Carried>[] = [
  { key: 'environment', label: 'Environment', of: ({ channel }) => [channel.split('/')[0] ?? ''] },
  { key: 'channel', label: 'Channel', of: ({ channel }) => [channel] },
  { key: 'site', label: 'Site', of: ({ site }) => [site] },
  {
    key: 'release',
    label: 'Newest release',
    of: (one) => [isAwaited(one) ? 'awaited' : 'there'],
    names: { awaited: 'to be carried', there: 'imported' },
    order: ['awaited', 'there'],
  },
  {
    key: 'visit',
    label: 'Next visit',
    of: (one) => [visitOf(one)],
    names: VISITS,
    order: Object.keys(VISITS),
  },
];

const byAgent = (a: Carried, b: Carried): number => a.agent.localeCompare(b.agent);

const ORDERS: readonly Order<Carried>[] = [
  { value: 'name', label: 'agent', compare: byAgent },
  {
    value: 'visit',
    label: 'next visit, the earliest first',
    compare: (a, b) =>
      (a.visit?.expectedBy ?? '~').localeCompare(b.visit?.expectedBy ?? '~') || byAgent(a, b),
  },
  {
    value: 'back',
    label: 'came back, the oldest first',
    compare: (a, b) => (a.back?.receivedAt ?? '').localeCompare(b.back?.receivedAt ?? '') || byAgent(a, b),
  },
];

/** 'events 7 to 9', or 'event 7'. */
const eventsOf = ({ from, to }: { readonly from: number; readonly to: number }): string =>
  from === to ? `event ${from}` : `events ${from} to ${to}`;

const columnsAt = (now: string): readonly Column<Carried>[] => [
  {
    name: 'Agent',
    text: ({ agent }) => agent,
    cell: ({ agent, site }) => (
      <Anchor component={Link} to={`/sites/${site}`}>
        {agent}
      </Anchor>
    ),
  },
  {
    name: 'Newest release',
    text: ({ channel, newest }) =>
      newest === null ? 'none' : `${channel} release ${newest.version}, ${newest.issuedAt}`,
    cell: ({ channel, newest }) =>
      newest === null ? (
        'none'
      ) : (
        <>
          {channel} release {newest.version}, <Age at={newest.issuedAt} now={now} />
        </>
      ),
  },
  {
    name: 'Imported',
    text: ({ accepted }) =>
      accepted === null ? 'nothing reported' : `release ${accepted.version}, ${accepted.at}`,
    cell: (one) => (
      <>
        {isAwaited(one) && <State mood="late">to be carried</State>}{' '}
        {one.accepted === null ? (
          'nothing reported'
        ) : (
          <>
            release {one.accepted.version}
            {one.accepted.channel !== one.channel && ` of ${one.accepted.channel}`},{' '}
            <Age at={one.accepted.at} now={now} />
          </>
        )}
      </>
    ),
  },
  {
    name: 'Came back',
    text: ({ back }) =>
      back === null
        ? 'no medium yet'
        : `${eventsOf(back.events)}, written ${back.writtenAt}, received ${back.receivedAt}`,
    cell: ({ back }) =>
      back === null ? (
        'no medium yet'
      ) : (
        <>
          {eventsOf(back.events)}, written <Age at={back.writtenAt} now={now} />, received{' '}
          <Age at={back.receivedAt} now={now} />
        </>
      ),
  },
  {
    name: 'Acknowledged',
    text: ({ acknowledged }) => (acknowledged === 0 ? 'nothing' : `up to event ${acknowledged}`),
  },
  {
    name: 'Next visit',
    text: (one) => (one.visit === null ? VISITS.none : `${visitOf(one)} by ${one.visit.expectedBy}`),
    cell: ({ visit }) =>
      visit === null ? (
        'no interval of visits is configured'
      ) : (
        <>
          <State mood={visit.isOverdue ? 'bad' : 'good'}>{visit.isOverdue ? 'overdue' : 'expected'}</State> by{' '}
          <At at={visit.expectedBy} />
        </>
      ),
  },
];

const firstOf = (names: readonly string[]): string =>
  names.length === 0 ? 'nothing' : nameSome(names, NAMED);

type UnderwayProps = Counted & {
  readonly media: Media['underway'];
  readonly agents: Media['agents'];
  readonly now: string;
};

/** Whether it reached no, some or all of its sites, and whether a visit there is overdue. */
const arrivalOf = (
  { sites, arrived }: Media['underway'][number],
  agents: Media['agents'],
  counted: string | null,
): Pick<Step, 'tone' | 'detail'> => {
  const overdue = agents.filter(
    ({ site, visit }) => visit?.isOverdue === true && sites.includes(site) && !arrived.includes(site),
  ).length;
  const late = counted === null ? `${overdue} overdue` : `${overdue} overdue of ${counted}`;
  const detail = `${arrived.length} of ${sites.length} sites${overdue === 0 ? '' : `, ${late}`}`;
  if (arrived.length >= sites.length && sites.length > 0) return { tone: 'good', detail };
  return { tone: overdue > 0 || arrived.length > 0 ? 'late' : 'quiet', detail };
};

const stepsOf = (
  medium: Media['underway'][number],
  { agents, counted, now }: Omit<UnderwayProps, 'media'>,
): readonly Step[] => [
  { name: 'Written', tone: 'good', detail: <Age at={medium.createdAt} now={now} /> },
  { name: 'On its way', tone: 'good', detail: <Age at={medium.recordedAt} now={now} /> },
  { name: 'Imported', ...arrivalOf(medium, agents, counted) },
  { name: 'Reports aboard', tone: 'quiet', detail: 'known when it is back' },
  { name: 'Home', tone: 'quiet', detail: 'not yet' },
];

type NextProps = Counted & { readonly media: readonly NextMedium[]; readonly site: string | undefined };

/** What media have to carry next, and the command that lists the content of one and its size. */
const Next = ({ media, counted, site }: NextProps) =>
  media.length > 0 && (
    <section aria-labelledby="next">
      <Title order={2} id="next">
        What the next media carry
      </Title>
      {counted !== null && <Text>Sites and overdue visits are counted among {counted}.</Text>}
      {media.map(({ channel, version, sites, overdue, command }) => (
        <div key={channel} className="medium">
          <Text>
            <strong>
              {channel} release {version}
            </strong>{' '}
            for {firstOf(sites)} {overdue > 0 && <State mood="bad">{`${overdue} overdue`}</State>}
          </Text>
          <NextContent channel={channel} site={site} />
          <Text size="sm" c="dimmed">
            By the releases and reports that the hub has. This command plans it with the medium in hand:
          </Text>
          <Code block tabIndex={0}>
            {command}
          </Code>
        </div>
      ))}
    </section>
  );

const Underway = ({ media, agents, counted, now }: UnderwayProps) => (
  <section aria-labelledby="underway">
    <Title order={2} id="underway">
      On their way
    </Title>
    <Text>
      <Code>fleet-export create --hub</Code> records a medium that leaves, and so does{' '}
      <Code>fleet-scheduler media record</Code> at a machine of the hub.
    </Text>
    {media.length === 0 && <Text>No recorded medium is on its way.</Text>}
    {media.map((one) => {
      const label = firstOf(one.releases);
      return (
        <div key={`${one.createdAt} ${one.recordedAt} ${label}`} className="medium">
          <Text fw={600}>
            {label}, to {firstOf(one.sites)}
          </Text>
          <Journey label={`Journey of ${label}`} steps={stepsOf(one, { agents, counted, now })} />
        </div>
      );
    })}
    {media.length > 0 && (
      <details>
        <summary>As a table</summary>
        <Wide label="Media on their way" headings={['Since', 'Carries', 'To', 'Arrived at']}>
          {media.map(({ createdAt, recordedAt, releases, sites, arrived }) => (
            <Table.Tr key={`${createdAt} ${recordedAt} ${releases.join()} ${sites.join()}`}>
              <Table.Th scope="row">
                <Age at={recordedAt} now={now} />
              </Table.Th>
              <Table.Td>
                {firstOf(releases)}, filled <Age at={createdAt} now={now} />
              </Table.Td>
              <Table.Td>
                <SiteLinks of={sites} />
              </Table.Td>
              <Table.Td>
                {arrived.length} of {sites.length} sites
              </Table.Td>
            </Table.Tr>
          ))}
        </Wide>
      </details>
    )}
  </section>
);

const Arrivals = ({ arrivals, now }: { readonly arrivals: Media['arrivals']; readonly now: string }) => (
  <section aria-labelledby="arrivals">
    <Title order={2} id="arrivals">
      What came back
    </Title>
    <Wide label="Media that came back" headings={['Received', 'Reports', 'Of sites', 'Had carried', 'To']}>
      {arrivals.map(({ receivedAt, reports, agents, sites, carried }) => (
        <Table.Tr key={receivedAt}>
          <Table.Th scope="row">
            <Age at={receivedAt} now={now} />
          </Table.Th>
          <Table.Td>
            {reports} of {agents} agents
          </Table.Td>
          <Table.Td>
            <SiteLinks of={sites} />
          </Table.Td>
          <Table.Td>
            {carried === null ? (
              'not known: it has no table of contents'
            ) : (
              <>
                {firstOf(carried.releases)}, filled <Age at={carried.createdAt} now={now} />
              </>
            )}
          </Table.Td>
          <Table.Td>{carried !== null && <SiteLinks of={carried.sites} />}</Table.Td>
        </Table.Tr>
      ))}
    </Wide>
  </section>
);
