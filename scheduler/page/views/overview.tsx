import { Anchor, Button, Group, Table, Text, TextInput, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { ageMarks } from '../../hub/questions/status/attention.ts';
import {
  type Alarms,
  alarms,
  type Compliance,
  type LinkState,
  type Sites,
  sites,
} from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { inChainOrder } from '../api/chain.ts';
import { Age, At } from '../parts/age.tsx';
import { describeHeld } from '../parts/held-values.tsx';
import { Pages } from '../parts/pages.tsx';
import { GateState, type Tone, toneOf, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';
import { ComplianceSection, readCompliance } from './compliance.tsx';

const SITES = 50;

type Answers = {
  readonly sites: Sites;
  readonly alarms: Alarms;
  readonly compliance: Compliance | null;
};

export const readOverview = async ({ request }: LoaderFunctionArgs): Promise<Answers> => {
  const query = new URL(request.url).searchParams;
  const filter = given({ environment: query.get('environment'), site: query.get('site') });
  const page = { ...given({ cursor: query.get('cursor') }), limit: SITES };
  const [found, open, counted] = await Promise.all([
    ask((options) => sites({ ...filter, ...page }, options), request.signal),
    ask((options) => alarms({ ...filter, limit: 1 }, options), request.signal),
    readCompliance(query, request.signal),
  ]);
  return { sites: found, alarms: open, compliance: counted };
};

/** All sites, how the environments comply over time, the age of each site's newest report, and the conditions that the environments wait for. */
export const Overview = () => {
  const {
    sites: { fleet, at, links, sites: shown, next },
    alarms: { total },
    compliance,
  } = useLoaderData<Answers>();
  const needing = shown.filter(
    ({ states, held }) => NEEDS_A_LOOK.has(worstTone(states)) || held !== undefined,
  ).length;
  return (
    <>
      <title>{`Fleet ${fleet} - Fleet Ferry`}</title>
      <Title order={1}>Fleet {fleet}</Title>
      <Text>
        {shown.length} sites on this page, {needing} of them need a look.{' '}
        <Anchor component={Link} to="/alarms" underline="always">
          {total} open alarms
        </Anchor>
        . As of <At at={at} />.
      </Text>
      {links.length > 0 && <Links links={links} now={at} />}
      {compliance !== null && <ComplianceSection answer={compliance} links={links} />}
      <Filters />
      <SiteTable sites={shown} now={at} />
      <Pages next={next} />
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
      {query.has('span') && <input type="hidden" name="span" value={query.get('span') ?? ''} />}
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

type Site = Sites['sites'][number];

const SiteTable = ({ sites, now }: { readonly sites: readonly Site[]; readonly now: string }) => (
  <Wide label="Sites" headings={['Site', 'State', 'Channels', 'Agents', 'Assignments', 'Last word']}>
    {sites.map(({ site, states, channels, agents, assignments, saidAt, held }) => (
      <Table.Tr key={site}>
        <Table.Th scope="row">
          <Anchor component={Link} to={`/sites/${site}`}>
            {site}
          </Anchor>
        </Table.Th>
        <Table.Td>
          <State mood={worstTone(states)}>{describeStates(states)}</State>
          {held && <State mood="late">{describeHeld(held)}</State>}
        </Table.Td>
        <Table.Td>{channels.join(', ')}</Table.Td>
        <Table.Td>{agents}</Table.Td>
        <Table.Td>{assignments}</Table.Td>
        <Table.Td>
          <Age at={saidAt} now={now} />
        </Table.Td>
      </Table.Tr>
    ))}
  </Wide>
);

const NEEDS_A_LOOK: ReadonlySet<Tone> = new Set<Tone>(['bad', 'late']);

const ORDER: readonly Tone[] = ['bad', 'late', 'quiet', 'good'];

const worstTone = (states: Site['states']): Tone =>
  ORDER.find((mood) => states.some((state) => toneOf(state) === mood)) ?? 'quiet';

/** The verdicts of a site with what their age adds, counted, worst first: '2 failed, 5 complies late'. */
const describeStates = (states: Site['states']): string =>
  states
    .toSorted((a, b) => ORDER.indexOf(toneOf(a)) - ORDER.indexOf(toneOf(b)))
    .map((state) => `${state.count} ${[state.verdict, ...ageMarks(state)].join(' ')}`)
    .join(', ');
