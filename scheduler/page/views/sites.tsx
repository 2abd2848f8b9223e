import {
  Anchor,
  Button,
  Checkbox,
  Code,
  CopyButton,
  Group,
  NativeSelect,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { useMemo, useState } from 'react';
import { Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { overview } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { filterRows } from '../parts/facet.ts';
import { Filters } from '../parts/filters.tsx';
import { BULK, type BulkVerb, type ChosenSite } from '../parts/fleet/bulk-commands.ts';
import { facetsOf } from '../parts/fleet/facets.ts';
import {
  causeNames,
  describeSite,
  dividingLabels,
  type FleetSite,
  sitesOf,
} from '../parts/fleet/fleet-site.ts';
import { LongTable } from '../parts/long-table.tsx';
import { type Order, sortRows } from '../parts/order.ts';
import { State } from '../parts/state.tsx';
import { TONES } from '../parts/tone.ts';

export const readSites = async ({ request }: LoaderFunctionArgs): Promise<Overview> => {
  const query = new URL(request.url).searchParams;
  return ask(
    (options) => overview(given({ environment: query.get('environment') }), options),
    request.signal,
  );
};

const ORDERS: readonly Order<FleetSite>[] = [
  {
    value: 'state',
    label: 'state, the worst first',
    compare: (a, b) => TONES.indexOf(a.tone) - TONES.indexOf(b.tone),
  },
  {
    value: 'word',
    label: 'last word, the oldest first',
    compare: (a, b) => (a.saidAt ?? 0) - (b.saidAt ?? 0),
  },
  // The hub sorts sites by name.
  { value: 'name', label: 'name', compare: () => 0 },
];

/** Every site, filtered by choices with counts, all of them in the address. */
export const SitesView = () => {
  const answer = useLoaderData<Overview>();
  const [query] = useSearchParams();
  const { causes, at } = answer;
  const sites = useMemo(() => sitesOf(answer), [answer]);
  const facets = useMemo(() => facetsOf(sites, causes, Date.parse(at)), [sites, causes, at]);
  const filtered = useMemo(() => filterRows(sites, facets, query), [sites, facets, query]);
  const { sorted, order } = useMemo(() => sortRows(filtered.found, ORDERS, query), [filtered, query]);
  const labels = dividingLabels(sites);
  const columns = columnsOf(query, labels);
  return (
    <>
      <title>Sites - Fleet Ferry</title>
      <Title order={1}>Sites</Title>
      <Filters
        noun="sites"
        total={sites.length}
        facets={facets}
        filtered={filtered}
        orders={ORDERS}
        order={order}
        columns={allColumns(labels).map(({ name }) => name)}
        shown={columns.map(({ name }) => name)}
      />
      <SiteTable sites={sorted} everySite={sites} answer={answer} columns={columns} />
    </>
  );
};

type Column = {
  readonly name: string;
  readonly cell: (site: FleetSite, answer: Overview) => React.ReactNode;
  readonly text: (site: FleetSite, answer: Overview) => string;
};

const plain = (name: string, text: Column['text']): Column => ({ name, text, cell: text });

const COLUMNS: readonly Column[] = [
  {
    name: 'State',
    text: ({ judged }) => describeSite(judged),
    cell: ({ tone, judged }) => <State mood={tone}>{describeSite(judged)}</State>,
  },
  plain('Cause', (site, { causes }) => causeNames(site, causes).join(', ')),
  plain('Channels', ({ place }) => place.channels.join(', ')),
  plain('Agents', ({ judged }) => `${judged.agents}`),
  plain('Assignments', ({ judged }) => `${judged.assignments}`),
  {
    name: 'Last word',
    text: ({ saidAt }) => (saidAt === null ? 'never' : new Date(saidAt).toISOString()),
    cell: ({ saidAt }, { at }) => (
      <Age at={saidAt === null ? null : new Date(saidAt).toISOString()} now={at} />
    ),
  },
];

const labelColumn = (name: string): Column => plain(name, ({ place: { labels } }) => labels[name] ?? '');

const DEFAULT_COLUMNS = ['State', 'Channels', 'Last word'];

const allColumns = (labels: readonly string[]): readonly Column[] => [...COLUMNS, ...labels.map(labelColumn)];

/** Columns of `?columns=`, or the usual ones and the labels. */
const columnsOf = (query: URLSearchParams, labels: readonly string[]): readonly Column[] => {
  const chosen = query.get('columns')?.split(',') ?? [...DEFAULT_COLUMNS, ...labels.slice(0, 2)];
  return allColumns(labels).filter(({ name }) => chosen.includes(name));
};

type TableProps = {
  readonly sites: readonly FleetSite[];
  /** Also sites that the filters remove: a chosen site stays chosen. */
  readonly everySite: readonly FleetSite[];
  readonly answer: Overview;
  readonly columns: readonly Column[];
};

const SiteTable = ({ sites, everySite, answer, columns }: TableProps) => {
  const cellsOf = (site: FleetSite): readonly string[] => [
    site.name,
    ...columns.map(({ text }) => text(site, answer)),
  ];
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  return (
    <>
      {chosen.size > 0 && (
        <Bulk
          sites={everySite
            .filter(({ name }) => chosen.has(name))
            .map(({ name, place: { channels } }) => ({ name, channels }))}
          found={sites.length}
          all={() => setChosen(new Set(sites.map(({ name }) => name)))}
          clear={() => setChosen(new Set())}
        />
      )}
      <LongTable
        label="Sites"
        headings={['Site', ...columns.map(({ name }) => name)]}
        rows={sites}
        textOf={(site) => cellsOf(site).join(' ')}
        cellsOf={cellsOf}
      >
        {(site, props) => (
          <Table.Tr key={site.name} {...props}>
            <Table.Th scope="row">
              <Group gap="xs" wrap="nowrap">
                <Checkbox
                  size="xs"
                  aria-label={`Choose ${site.name}`}
                  checked={chosen.has(site.name)}
                  onChange={() => toggle(site.name)}
                />
                <Anchor component={Link} to={`/sites/${site.name}`}>
                  {site.name}
                </Anchor>
              </Group>
            </Table.Th>
            {columns.map((column) => (
              <Table.Td key={column.name}>{column.cell(site, answer)}</Table.Td>
            ))}
          </Table.Tr>
        )}
      </LongTable>
    </>
  );
};

type BulkProps = {
  readonly sites: readonly ChosenSite[];
  /** Number of sites that match the filters. */
  readonly found: number;
  readonly all: () => void;
  readonly clear: () => void;
};

const Bulk = ({ sites, found, all, clear }: BulkProps) => {
  const [verb, setVerb] = useState<BulkVerb>('fill');
  const text = BULK[verb].commands(sites).join('\n');
  return (
    <section aria-label="Chosen sites" className="bulk">
      <Group gap="sm" align="end">
        <NativeSelect
          label={`${sites.length} chosen`}
          size="xs"
          value={verb}
          onChange={({ currentTarget }) => {
            const next = Object.keys(BULK).find((one): one is BulkVerb => one === currentTarget.value);
            if (next) setVerb(next);
          }}
          data={Object.entries(BULK).map(([value, { title: label }]) => ({ value, label }))}
        />
        {sites.length < found && (
          <Button size="xs" variant="default" onClick={all}>
            Choose all {found}
          </Button>
        )}
        <Button size="xs" variant="default" onClick={clear}>
          Choose none
        </Button>
      </Group>
      <Text size="sm" mt="xs">
        Signed at the office, so the page names the command:
      </Text>
      <Code block tabIndex={0}>
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" mt="xs" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </section>
  );
};
