import { Anchor, Button, Group, NativeSelect, Table, Text, TextInput, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { type Alarms, alarms } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { Pages } from '../parts/pages.tsx';
import { type Tone, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';

const ALARMS = 50;

const SEVERITIES = ['critical', 'warning', 'info'] as const;

export const readAlarms = async ({ request }: LoaderFunctionArgs): Promise<Alarms> => {
  const query = new URL(request.url).searchParams;
  const severity = SEVERITIES.find((one) => one === query.get('severity'));
  const asked = given({
    environment: query.get('environment'),
    site: query.get('site'),
    kind: query.get('kind'),
    severity,
    cursor: query.get('cursor'),
  });
  return ask((options) => alarms({ ...asked, limit: ALARMS }, options), request.signal);
};

/** Open alarms, the worst first: subject, begin, last notice and advice. */
export const AlarmsView = () => {
  const { at, total, alarms: open, failing, next } = useLoaderData<Alarms>();
  const [query] = useSearchParams();
  return (
    <>
      <title>Alarms - Fleet Ferry</title>
      <Title order={1}>Alarms</Title>
      <Text>{total === 0 ? 'No alarm is open.' : `${total} open.`}</Text>
      {failing.map(({ receiver, since, failures, message, nextAt }) => (
        <Text key={receiver}>
          <State mood="bad">{`${receiver} fails`}</State> Since <Age at={since} now={at} /> it took no notice,
          in {failures} attempts: {message}. The next attempt is at <time dateTime={nextAt}>{nextAt}</time>.
        </Text>
      ))}
      <Form role="search" aria-label="Filters" key={query.toString()}>
        <Group align="end" my="md">
          <TextInput name="environment" label="Environment" defaultValue={query.get('environment') ?? ''} />
          <TextInput name="site" label="Site" defaultValue={query.get('site') ?? ''} />
          <TextInput name="kind" label="Kind" defaultValue={query.get('kind') ?? ''} />
          <NativeSelect
            name="severity"
            label="Severity"
            data={[{ value: '', label: 'all' }, ...SEVERITIES]}
            defaultValue={query.get('severity') ?? ''}
          />
          <Button type="submit">Filter</Button>
        </Group>
      </Form>
      <Wide
        label="Open alarms"
        headings={['Kind', 'Severity', 'Subject', 'Since', 'Last notice', 'What and what to do']}
      >
        {open.map(({ id, kind, severity, subject, since, noticedAt, summary, action }) => (
          <Table.Tr key={id}>
            <Table.Th scope="row">{kind}</Table.Th>
            <Table.Td>
              <State mood={TONES[severity]}>{severity}</State>
            </Table.Td>
            <Table.Td>
              <Subject kind={kind} of={subject} />
            </Table.Td>
            <Table.Td>
              <Age at={since} now={at} />
            </Table.Td>
            <Table.Td>
              {noticedAt === null ? 'no receiver took one' : <Age at={noticedAt} now={at} />}
            </Table.Td>
            <Table.Td>
              {summary}
              <Text size="sm">{action}.</Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      <Pages next={next} />
    </>
  );
};

const TONES: Readonly<Record<Alarms['alarms'][number]['severity'], Tone>> = {
  critical: 'bad',
  warning: 'late',
  info: 'quiet',
};

type Subject = Alarms['alarms'][number]['subject'];

const Subject = ({ kind, of }: { readonly kind: string; readonly of: Subject }) => {
  const { environment, clusterType, agent, site, assignment, workload, name } = of;
  const channel = clusterType === undefined ? environment : `${environment ?? ''}/${clusterType}`;
  const words = [agent ?? site, assignment ?? workload, channel, name].filter((word) => word !== undefined);
  const link = linkTo(kind, of);
  const text = words.length === 0 ? 'the hub' : words.join(', ');
  return link === undefined ? (
    text
  ) : (
    <Anchor component={Link} to={link}>
      {text}
    </Anchor>
  );
};

/** Address of the most detailed view of the subject; undefined if no view shows it. */
const linkTo = (
  kind: string,
  { environment, agent, site, assignment, workload }: Subject,
): string | undefined => {
  const of = encodeURIComponent;
  if (kind === 'GATE_WAITS') return '/pipeline';
  const [place = site, machine] = (agent ?? '').split('/').filter((part) => part !== '');
  if (place !== undefined && kind === 'MEDIUM_OVERDUE') return `/media?site=${of(place)}`;
  if (place !== undefined && machine !== undefined && assignment !== undefined)
    return `/sites/${of(place)}/${of(machine)}/${of(assignment)}`;
  if (place !== undefined) return `/sites/${of(place)}`;
  if (workload !== undefined) return `/workloads/${of(workload)}`;
  return environment === undefined ? undefined : `/workloads?environment=${of(environment)}`;
};
