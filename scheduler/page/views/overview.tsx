import { Anchor, Button, Group, Text, TextInput, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { Table } from '@mantine/core';
import { ageMarks } from '../../hub/questions/status/attention.ts';
import { type LinkState, type Status, status, type StatusRow as Row } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { inChainOrder } from '../api/chain.ts';
import { Age } from '../parts/age.tsx';
import { Pages } from '../parts/pages.tsx';
import { GateState, type Mood, moodOf, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';

/** Agents a page. A site whose agents are on two pages is in both. */
const AGENTS = 50;

export const readOverview = async ({ request }: LoaderFunctionArgs): Promise<Status> => {
  const query = new URL(request.url).searchParams;
  const asked = given({
    environment: query.get('environment'),
    site: query.get('site'),
    cursor: query.get('cursor'),
  });
  return ask((options) => status({ ...asked, limit: AGENTS }, options), request.signal);
};

/** All sites, the newest word of each, and what the environments wait for. */
export const Overview = () => {
  const { fleet, at, links, rows, next, alarms } = useLoaderData<Status>();
  const sites = [...Map.groupBy(rows, ({ site }) => site)];
  const needing = sites.filter(([, of]) => worstOf(of) !== 'good').length;
  return (
    <>
      <title>{`Fleet ${fleet} - Fleet Ferry`}</title>
      <Title order={1}>Fleet {fleet}</Title>
      <Text>
        {sites.length} sites on this page, {needing} of them need a look. {alarms.length} alarms. As of{' '}
        <time dateTime={at}>{at}</time>.
      </Text>
      {links.length > 0 && <Links links={links} now={at} />}
      <Filters />
      <SiteTable sites={sites} now={at} />
      <Pages next={next ?? null} />
    </>
  );
};

const Links = ({ links, now }: { readonly links: readonly LinkState[]; readonly now: string }) => (
  <section aria-labelledby="links">
    <Title order={2} id="links">
      Promotions
    </Title>
    <ul className="links">
      {inChainOrder(links).map(({ from, to, mode, state, why, since }) => (
        <li key={to}>
          <Anchor component={Link} to="/pipeline">
            {from} to {to}
          </Anchor>{' '}
          <GateState state={state} /> {mode}, since <Age at={since} now={now} />
          {why !== null && <Text>{why}</Text>}
        </li>
      ))}
    </ul>
  </section>
);

const Filters = () => {
  const [query] = useSearchParams();
  return (
    <Form role="search" aria-label="Filters" key={query.toString()}>
      <Group align="end" my="md">
        <TextInput name="environment" label="Environment" defaultValue={query.get('environment') ?? ''} />
        <TextInput name="site" label="Site" defaultValue={query.get('site') ?? ''} />
        <Button type="submit">Filter</Button>
        <Button component={Link} to="/" variant="default">
          Show all
        </Button>
      </Group>
    </Form>
  );
};

type Site = readonly [string, readonly Row[]];

const SiteTable = ({ sites, now }: { readonly sites: readonly Site[]; readonly now: string }) => (
  <Wide label="Sites" headings={['Site', 'State', 'Channels', 'Agents', 'Assignments', 'Last word']}>
    {sites.map(([site, rows]) => (
      <Table.Tr key={site}>
        <Table.Th scope="row">
          <Anchor component={Link} to={`/sites/${site}`}>
            {site}
          </Anchor>
        </Table.Th>
        <Table.Td>
          <State mood={worstOf(rows)}>{describe(rows)}</State>
        </Table.Td>
        <Table.Td>{[...new Set(rows.map(channelOf))].join(', ')}</Table.Td>
        <Table.Td>{new Set(rows.map(({ agent }) => agent)).size}</Table.Td>
        <Table.Td>{rows.filter(({ assignment }) => assignment !== null).length}</Table.Td>
        <Table.Td>
          <Age at={newestWord(rows)} now={now} />
        </Table.Td>
      </Table.Tr>
    ))}
  </Wide>
);

const ORDER: readonly Mood[] = ['bad', 'late', 'quiet', 'good'];

const worstOf = (rows: readonly Row[]): Mood =>
  ORDER.find((mood) => rows.some((row) => moodOf(row) === mood)) ?? 'quiet';

/** The verdicts of a site with what their age adds, counted, worst first: '2 failed, 5 complies late'. */
const describe = (rows: readonly Row[]): string =>
  [...Map.groupBy(rows, (row) => [row.verdict, ...ageMarks(row)].join(' '))]
    .toSorted(([, a], [, b]) => ORDER.indexOf(worstOf(a)) - ORDER.indexOf(worstOf(b)))
    .map(([verdict, of]) => `${of.length} ${verdict}`)
    .join(', ');

const channelOf = ({ channel }: Row): string => `${channel.environment}/${channel.clusterType}`;

const newestWord = (rows: readonly Row[]): string | null =>
  rows.reduce<string | null>(
    (newest, { saidAt }) => (saidAt !== null && (newest === null || saidAt > newest) ? saidAt : newest),
    null,
  );
