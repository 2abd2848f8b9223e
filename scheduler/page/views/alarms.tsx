import { Anchor, Badge, Button, Card, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Link, type LoaderFunctionArgs, useLoaderData, useNavigate, useSearchParams } from 'react-router';
import { formatCount } from '#bundles/format-count';
import type { AlarmCauses, Alarms, AlarmsPast } from '#bundles/schemas/types/hub-decisions';
import {
  acknowledgeAlarms,
  alarmCauses,
  alarms,
  alarmsPast,
  endAlarmHandling,
  silenceAlarms,
} from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { hubTimeIn } from '../api/hub-time.ts';
import { nextMonday } from '../api/next-monday.ts';
import { usePreferences } from '../api/preferences.ts';
import { alarmAddress } from '../parts/alarm-address.ts';
import { Age, At, Timed } from '../parts/age.tsx';
import { exactTime } from '../parts/exact-time.ts';
import { type Facet, filterRows } from '../parts/facet.ts';
import { Filters } from '../parts/filters.tsx';
import { type Order, sortRows } from '../parts/order.ts';
import { Pages } from '../parts/pages.tsx';
import { SaveCsv } from '../parts/save-csv.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { Decide, type Decision } from './decide.tsx';

/** Causes of one answer. */
const CAUSES = 500;
/** Causes that are drawn; a button draws as many more. */
const DRAWN = 100;
/** Alarms that are over, on one page. */
const SHOWN = 50;
/** Filters that open alarms and those that are over have in common. */
const PLACE: readonly string[] = ['environment', 'site'];

type Cause = AlarmCauses['causes'][number];
type Alarm = Alarms['alarms'][number];

type AlarmsAnswer =
  | { readonly kind: 'past'; readonly past: AlarmsPast }
  | {
      readonly kind: 'open';
      /** All of them. */
      readonly causes: AlarmCauses;
      readonly failing: Alarms['failing'];
      /** Of the cause in the address. */
      readonly members: readonly Alarm[];
    };

export const readAlarms = async ({ request: { url, signal } }: LoaderFunctionArgs): Promise<AlarmsAnswer> => {
  const query = new URL(url).searchParams;
  const places = given({ environment: query.get('environment'), site: query.get('site') });
  if (query.get('show') === 'past') {
    const page = given({ limit: SHOWN, cursor: query.get('cursor') });
    const past = await ask((options) => alarmsPast({ ...places, ...page }, options), signal);
    return { kind: 'past', past };
  }
  const cause = query.get('cause');
  const [causes, members] = await Promise.all([
    readCauses(places, signal),
    // The receivers are in every answer about alarms.
    ask(
      (options) => alarms({ ...places, ...given({ cause }), limit: cause === null ? 1 : 200 }, options),
      signal,
    ),
  ]);
  return { kind: 'open', causes, failing: members.failing, members: cause === null ? [] : members.alarms };
};

/** The causes of all open alarms: choices are counted, and the order is, among all of them. */
const readCauses = async (
  places: Parameters<typeof alarmCauses>[0],
  signal: AbortSignal,
): Promise<AlarmCauses> => {
  const first = await ask((options) => alarmCauses({ ...places, limit: CAUSES }, options), signal);
  const causes = new Map(first.causes.map((cause) => [cause.id, cause]));
  for (let { next } = first; next !== null; ) {
    const cursor = next;
    const more = await ask((options) => alarmCauses({ ...places, limit: CAUSES, cursor }, options), signal);
    // Between two answers a cause may have moved in the order.
    for (const cause of more.causes) causes.set(cause.id, cause);
    ({ next } = more);
  }
  return { ...first, causes: [...causes.values()] };
};

/** Open alarms by cause, with what people did about them; and those that are over. */
export const AlarmsView = () => {
  const answer = useLoaderData<AlarmsAnswer>();
  const [query] = useSearchParams();
  const navigate = useNavigate();
  return (
    <>
      <title>Alarms - Fleet Ferry</title>
      <Group justify="space-between">
        <Title order={1}>Alarms</Title>
        <SegmentedControl
          aria-label="Which alarms"
          value={answer.kind}
          onChange={(show) => {
            const next = new URLSearchParams([...query].filter(([name]) => PLACE.includes(name)));
            if (show === 'past') next.set('show', show);
            void navigate(`?${next}`);
          }}
          data={[
            { value: 'open', label: 'Open' },
            { value: 'past', label: 'Over' },
          ]}
        />
      </Group>
      {answer.kind === 'past' ? <Past of={answer.past} /> : <Open of={answer} query={query} />}
    </>
  );
};

const NOBODY = '-';

const FACETS: readonly Facet<Cause>[] = [
  {
    key: 'severity',
    label: 'Severity',
    of: ({ severity }) => [severity],
    order: ['critical', 'warning', 'info'],
  },
  { key: 'kind', label: 'Kind', of: ({ kind }) => [kind] },
  {
    key: 'workspace',
    label: 'Owner',
    of: ({ owner }) => [owner ?? NOBODY],
    names: { [NOBODY]: 'no owner' },
  },
  {
    key: 'handled',
    label: 'Handled',
    of: ({ alarms: count, acknowledged, silence }) => [
      ...(acknowledged === count ? ['acknowledged'] : []),
      ...(silence === null ? [] : ['silenced']),
      ...(acknowledged < count && silence === null ? [NOBODY] : []),
    ],
    names: { [NOBODY]: 'by nobody' },
    order: [NOBODY],
  },
];

const ORDERS: readonly Order<Cause>[] = [
  // The hub sorts causes by severity.
  { value: 'worst', label: 'the worst first', compare: () => 0 },
  { value: 'newest', label: 'the newest first', compare: (a, b) => (a.newest < b.newest ? 1 : -1) },
  { value: 'sites', label: 'most sites first', compare: (a, b) => b.sites - a.sites },
];

const HEADINGS = ['Severity', 'Kind', 'Cause', 'Sites', 'Alarms', 'Environment', 'Owner', 'Since', 'Summary'];

const cellsOf = (cause: Cause): readonly string[] => [
  cause.severity,
  cause.kind,
  cause.cause,
  `${cause.sites}`,
  `${cause.alarms}`,
  cause.environment ?? '',
  cause.owner ?? '',
  cause.since,
  cause.summary,
];

type OpenProps = {
  readonly of: Extract<AlarmsAnswer, { readonly kind: 'open' }>;
  readonly query: URLSearchParams;
};

const Open = ({ of: { causes, failing, members }, query }: OpenProps) => {
  const { at, total, alarms: count } = causes;
  const filtered = filterRows(causes.causes, FACETS, query);
  const { sorted, order } = sortRows(filtered.found, ORDERS, query);
  const [drawn, setDrawn] = useState(DRAWN);
  return (
    <>
      <Text>{total === 0 ? 'No alarm is open.' : `${formatCount(count, 'alarm')} open.`}</Text>
      {failing.map(({ receiver, since, failures, message, nextAt }) => (
        <Text key={receiver}>
          <State mood="bad">{`${receiver} fails`}</State> Since <Age at={since} now={at} /> it took no notice,
          in {failures} attempts: {message}. The next attempt is at <At at={nextAt} />.
        </Text>
      ))}
      {query.get('site') !== null && (
        <Text>
          At {query.get('site')}.{' '}
          <Anchor component={Link} to=".">
            Everywhere
          </Anchor>
        </Text>
      )}
      <Filters
        label="Filters of the alarms"
        noun="causes"
        total={causes.causes.length}
        facets={FACETS}
        filtered={filtered}
        orders={ORDERS}
        order={order}
      />
      <SaveCsv label="Alarms" rows={() => [HEADINGS, ...sorted.map(cellsOf)]} />
      <Stack gap="sm" component="ul" className="causes">
        {sorted.slice(0, drawn).map((cause) => (
          <li key={cause.id}>
            <CauseCard
              cause={cause}
              now={at}
              members={query.get('cause') === cause.id ? members : undefined}
            />
          </li>
        ))}
      </Stack>
      {sorted.length > drawn && (
        <Button variant="default" mt="sm" onClick={() => setDrawn(drawn + DRAWN)}>
          {`Show ${formatCount(Math.min(DRAWN, sorted.length - drawn), 'more cause')} of ${sorted.length - drawn}`}
        </Button>
      )}
    </>
  );
};

const TONES: Readonly<Record<Alarm['severity'], Tone>> = { critical: 'bad', warning: 'late', info: 'quiet' };

type CauseProps = {
  readonly cause: Cause;
  readonly now: string;
  /** Its alarms, where it is open. */
  readonly members: readonly Alarm[] | undefined;
};

const CauseCard = ({ cause, now, members }: CauseProps) => {
  const { id, kind, severity, sites, firstSites, since, newest, owner, environment, assignment } = cause;
  const [query] = useSearchParams();
  const toggled = new URLSearchParams(query);
  if (members === undefined) toggled.set('cause', id);
  else toggled.delete('cause');
  const where = sites === 0 ? '' : ` at ${formatCount(sites, 'site')}`;
  const title = [kind, cause.cause].filter((word) => word !== '').join(' ');
  return (
    <Card withBorder padding="sm" className={cause.silenced === cause.alarms ? 'cause silent' : 'cause'}>
      <Group justify="space-between" align="start" wrap="nowrap" className="cause-head">
        <div>
          <Group gap="xs">
            <State mood={TONES[severity]}>{severity}</State>
            <Title order={2} size="h4" m={0}>
              <Anchor
                component={Link}
                to={`?${toggled.toString()}`}
                preventScrollReset
                aria-expanded={members !== undefined}
              >
                {title}
                {where}
              </Anchor>
            </Title>
          </Group>
          <Text size="sm" c="dimmed">
            {[environment, assignment, owner === null ? 'no owner' : `owner ${owner}`]
              .filter((word) => word !== null)
              .join(', ')}
            {', since '}
            <Age at={since} now={now} />
            {newest !== since && (
              <>
                , newest <Age at={newest} now={now} />
              </>
            )}
          </Text>
        </div>
        <Acts cause={cause} now={now} />
      </Group>
      <Text mt={4} lineClamp={3}>
        <Timed text={cause.summary} />
      </Text>
      <Text size="sm">{cause.action}.</Text>
      {firstSites.length > 0 && (
        <Group gap={6} mt={4}>
          {firstSites.map((site) => (
            <Badge
              key={site}
              component={Link}
              to={`/sites/${encodeURIComponent(site)}`}
              variant="default"
              tt="none"
              className="site-link"
            >
              {site}
            </Badge>
          ))}
          {sites > firstSites.length && <Text size="sm">and {sites - firstSites.length} more</Text>}
        </Group>
      )}
      {cause.by !== null && (
        <Text size="sm" mt={4}>
          Acknowledged by {cause.by.person} <Age at={cause.by.at} now={now} />
          {cause.acknowledged < cause.alarms && ` (${cause.acknowledged} of ${cause.alarms})`}:{' '}
          {cause.by.reason}
        </Text>
      )}
      {cause.silence !== null && (
        <Text size="sm" mt={4}>
          Silenced by {cause.silence.person} until <At at={cause.silence.until} />: {cause.silence.reason}
        </Text>
      )}
      {members !== undefined && (
        <ul className="members">
          {members.map((alarm) => (
            <Member key={alarm.id} alarm={alarm} now={now} />
          ))}
        </ul>
      )}
    </Card>
  );
};

const Member = ({ alarm, now }: { readonly alarm: Alarm; readonly now: string }) => {
  const { since, summary, noticedAt, acknowledged, silenced } = alarm;
  return (
    <li>
      <Group gap="xs">
        <Subject of={alarm} />
        <Text size="sm" c="dimmed">
          since <Age at={since} now={now} />,{' '}
          {noticedAt === null ? (
            'no receiver took a notice'
          ) : (
            <>
              last notice <Age at={noticedAt} now={now} />
            </>
          )}
          {acknowledged !== null && `, acknowledged by ${acknowledged.person}`}
          {silenced !== null && (
            <>
              , silent until <At at={silenced.until} />
            </>
          )}
        </Text>
      </Group>
      <Text size="sm">
        <Timed text={summary} />
      </Text>
    </li>
  );
};

const nameOfSubject = ({ agent, site, name, environment }: Alarm['subject']): string =>
  agent ?? site ?? name ?? environment ?? 'the hub';

/** What an alarm is about, with a link to its view. */
const Subject = ({ of: { kind, subject } }: { readonly of: Pick<Alarm, 'kind' | 'subject'> }) => {
  const to = alarmAddress(kind, subject);
  const text = nameOfSubject(subject);
  return to === undefined ? (
    text
  ) : (
    <Anchor component={Link} to={to}>
      {text}
    </Anchor>
  );
};

/** Lengths of a silence, in hours from now. */
const LENGTHS = [
  { value: '1', label: '1 hour' },
  { value: '4', label: '4 hours' },
  { value: '24', label: '1 day' },
  { value: '168', label: '7 days' },
  { value: '720', label: '30 days' },
] as const;

const Acts = ({ cause, now }: { readonly cause: Cause; readonly now: string }) => {
  const { id: target, kind, environment, owner, alarms: count, acknowledged, silence } = cause;
  const readAt = useMemo(() => Date.now(), [now]);
  const { times } = usePreferences();
  const monday = nextMonday(now, times);
  const about = {
    object: target,
    allowance: `alarms:${environment ?? '*'}`,
    byWorkspace: owner !== null,
  };
  const acts: readonly Decision[] = [
    ...(acknowledged < count
      ? [
          {
            ...about,
            title: 'Acknowledge',
            what: `Acknowledge ${kind}`,
            preview: (
              <Text size="sm">
                No repeated notices about {formatCount(count, 'open alarm')} of this cause.
              </Text>
            ),
            decide: (reason: string, options) =>
              acknowledgeAlarms({ alarmHandle: { target, reason } }, options),
          } satisfies Decision,
        ]
      : []),
    ...(silence === null
      ? [
          {
            ...about,
            title: 'Silence',
            what: `Silence ${kind}`,
            preview: (
              <Text size="sm">
                No notices about this cause, also at sites where it begins later. It ends at its time.
              </Text>
            ),
            choices: {
              label: 'For',
              options: [
                ...LENGTHS,
                { value: monday, label: `until Monday, ${exactTime(monday, times).replace(':00 ', ' ')}` },
              ],
            },
            decide: (reason: string, options, chosen: string) => {
              const until = chosen === monday ? monday : hubTimeIn(now, Date.now() - readAt, Number(chosen));
              return silenceAlarms({ alarmSilence: { target, reason, until } }, options);
            },
          } satisfies Decision,
        ]
      : []),
    ...(acknowledged > 0 || silence !== null
      ? [
          {
            ...about,
            title: 'Take back',
            what: `Take back what was done about ${kind}`,
            decide: (reason: string, options) =>
              endAlarmHandling({ alarmHandle: { target, reason } }, options),
          } satisfies Decision,
        ]
      : []),
  ];
  return (
    <Group gap="xs" className="acts">
      {acts.map((decision) => (
        <Decide key={decision.title} decision={decision} />
      ))}
    </Group>
  );
};

const PAST_HEADINGS = ['Severity', 'Kind', 'Of', 'Opened', 'Over', 'Acknowledged by', 'Summary'];

const cellsOfPast = (alarm: AlarmsPast['alarms'][number]): readonly string[] => [
  alarm.severity,
  alarm.kind,
  nameOfSubject(alarm.subject),
  alarm.openedAt,
  alarm.goneAt,
  alarm.acknowledgedBy ?? '',
  alarm.summary,
];

const Past = ({ of: { at, alarms: over, next } }: { readonly of: AlarmsPast }) => (
  <>
    <Text mb="md">
      {over.length === 0
        ? 'No alarm of the last 90 days is over.'
        : 'Alarms of the last 90 days, the newest end first.'}
    </Text>
    {over.length > 0 && (
      <SaveCsv label="Alarms that are over" rows={() => [PAST_HEADINGS, ...over.map(cellsOfPast)]} />
    )}
    <ul className="members">
      {over.map((alarm) => {
        const { id, kind, severity, summary, openedAt, goneAt, acknowledgedBy } = alarm;
        return (
          <li key={`${id} ${openedAt}`}>
            <Group gap="xs">
              <State mood="good">over</State>
              <Text fw={600}>{kind}</Text>
              <Subject of={alarm} />
              <Text size="sm" c="dimmed">
                {severity}, over <Age at={goneAt} now={at} />, opened <Age at={openedAt} now={at} />,{' '}
                {acknowledgedBy === null ? 'resolved without a person' : `acknowledged by ${acknowledgedBy}`}
              </Text>
            </Group>
            <Text size="sm">
              <Timed text={summary} />
            </Text>
          </li>
        );
      })}
    </ul>
    <Pages next={next} />
  </>
);
