import { Anchor, Group, Text, Title } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import type { Compliance, LinkState } from '#bundles/schemas/types/hub-decisions';
import { compliance } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { inChainOrder } from '../api/chain.ts';
import { Chart } from '../parts/chart/chart.tsx';
import type { ChartColor, ChartData } from '../parts/chart/chart-data.ts';

const SPANS = { '7d': '7 days', '30d': '30 days', '90d': '90 days' } as const;
type Span = keyof typeof SPANS;

const spanOf = (query: URLSearchParams): Span =>
  Object.keys(SPANS).find((span): span is Span => span === query.get('span')) ?? '7d';

/** The counts for the first page of a whole environment, or of all; null elsewhere. */
export const readCompliance = async (
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<Compliance | null> => {
  if (query.get('site') || query.has('cursor')) return null;
  const asked = { since: spanOf(query), ...given({ environment: query.get('environment') }) };
  return ask((options) => compliance(asked, options), signal);
};

type Environment = Compliance['environments'][number];

/** Conditions as the chart has them, from the bottom to the top. */
const CONDITIONS = [
  ['complies', 'comply', 'good'],
  ['waiting', 'waiting or held', 'quiet'],
  ['late', 'late', 'late'],
  ['silent', 'silent', 'silent'],
  ['neverReported', 'never reported', 'never'],
  ['differs', 'differ', 'bad'],
] as const satisfies readonly (readonly [keyof Environment['samples'][number], string, ChartColor])[];

/** Fewest samples that are a curve. */
const CURVE = 2;
/** Charts of one view: more would hide the sites below them. */
const CHARTS = 12;

type Props = { readonly answer: Compliance; readonly links: readonly LinkState[] };

/** A chart for each environment, in the order of the chain: how many agents comply, and why the others do not. */
export const ComplianceSection = ({ answer: { environments }, links }: Props) => {
  const order = inChainOrder(links).flatMap(({ from, to }) => [from, to]);
  const placeOf = ({ environment }: Environment): number => order.indexOf(environment) % (order.length + 1);
  const drawn = environments
    .filter(({ samples }) => samples.length >= CURVE)
    .toSorted((a, b) => placeOf(a) - placeOf(b));
  return (
    <section aria-labelledby="compliance">
      <Title order={2} id="compliance">
        Agents over time
      </Title>
      <Spans />
      {drawn.length === 0 && <Text>The hub counts once an hour and has no two counts yet.</Text>}
      <div className="charts">
        {drawn.slice(0, CHARTS).map(({ environment, samples }) => (
          <Chart
            key={environment}
            title={`Agents of ${environment}`}
            environment={environment}
            data={dataOf(samples)}
          >
            <Title order={3} size="h4">
              {environment}
            </Title>
          </Chart>
        ))}
      </div>
      {drawn.length > CHARTS && (
        <Text>{drawn.length - CHARTS} more environments: filter for one to see its curve.</Text>
      )}
    </section>
  );
};

const Spans = () => {
  const [query] = useSearchParams();
  const shown = spanOf(query);
  return (
    <Group component="nav" aria-label="Time that the charts show" my="xs">
      {Object.entries(SPANS).map(([span, name]) => (
        <Anchor
          key={span}
          component={Link}
          underline="always"
          to={`?${new URLSearchParams({ ...Object.fromEntries(query), span })}`}
          {...(span === shown && { 'aria-current': true, fw: 700 })}
        >
          {name}
        </Anchor>
      ))}
    </Group>
  );
};

/** Conditions that no agent had in this time are left out. */
const dataOf = (samples: Environment['samples']): ChartData => ({
  form: 'areas',
  times: samples.map(({ at }) => at),
  curves: CONDITIONS.filter(([condition]) => samples.some((sample) => sample[condition] > 0)).map(
    ([condition, name, color]) => ({ name, color, values: samples.map((sample) => sample[condition]) }),
  ),
});
