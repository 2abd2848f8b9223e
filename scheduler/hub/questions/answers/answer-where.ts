import { defined } from '#bundles/defined';
import { isDigest } from '#bundles/digest';
import { type ChangedValue, formatChangedValue } from '#bundles/formats/author-schema/changed-values';
import { parseJson } from '#bundles/json/parse-json';
import { formatChannel } from '#bundles/names';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { paragraph } from '#cli/format-table';
import type { Hub } from '../../hub.ts';
import type { RebootRequired, RebootState } from '../../store/reboot-state.ts';
import { seesWhole } from '../../people/visible.ts';
import { formatSpan } from '../status/format-age.ts';
import { heardText } from '../status/render-table.ts';
import type { Answer } from './answer-history.ts';
import { lastValues } from '../history/changed-values.ts';
import { type NamedPackage, namePackage } from '../history/name-value.ts';
import type { Question } from '../history/parse-question.ts';
import { openReleases, type Releases } from '../history/read-releases.ts';
import { type AgentAt, type At, type Lasting, readStateAt } from '../history/read-state-at.ts';
import { describeRemoved } from '../history/describe-removed.ts';

/** A package that runs, or ran, at an agent. */
type Running = NamedPackage & {
  readonly assignment: string;
  readonly since: Timestamp;
  readonly forSeconds: number;
  readonly health: string | null;
  readonly drift: string | null;
  /** The last change of values since the package runs; absent: there was none that it takes. */
  readonly values?: { readonly since: Timestamp; readonly changed: readonly ChangedValue[] };
};

/**
 * Versions of packages by agent, with the time since when they run, now or at a past time. The limit of a page counts agents.
 * For a past time the health is the one of that time.
 */
export const answerWhere = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { subject, page, at: { at, knownAt } }: Pick<Question, 'subject' | 'page'> & { readonly at: At },
  now: Date,
): Promise<Answer> => {
  const { agents, next } = await readStateAt(hub.store.db, subject, { at, knownAt }, page);
  const releases = await openReleases(hub);
  const words = await readWords(hub, agents);
  const entries = [];
  for (const one of agents) {
    const running = await runningOf(hub, releases, one, at);
    // A question about a workload is not about agents that no longer have it.
    if (running.length === 0 && subject.assignments !== undefined) continue;
    if (running.length === 0 && !seesWhole(subject.visible, one.channel.environment)) continue;
    entries.push({
      agent: one.agent,
      site: one.site,
      channel: one.channel,
      ...(words.get(one.agent) ?? { heardAt: null, saidAt: null, reboot: null }),
      release: one.own.release ?? null,
      hold: one.own.hold?.value === 'held' ? one.own.hold : null,
      running,
    });
  }
  const lines = entries.flatMap(({ agent, channel, release, hold, heardAt, saidAt, reboot, running }) => [
    paragraph(
      [
        agent,
        formatChannel(channel),
        ...(release ? [`accepted ${release.value}`] : []),
        ...(hold ? ['held on site'] : []),
        ...(reboot ? ['needs a reboot'] : []),
        heardAt === null ? 'never heard' : `heard ${heardText({ heardAt, saidAt }, now)}`,
      ].join(', '),
    ),
    ...running.map((one) => paragraph(describeRunning(one), 2)),
    ...(running.length === 0 ? ['  nothing'] : []),
  ]);
  const answer = {
    lines: [
      ...(entries.length === 0 ? ['Nothing runs.'] : lines),
      ...(next === null ? [] : ['', `More: --cursor ${next}`]),
    ],
    json: defined({
      fleet: hub.store.fleet,
      at,
      knownAt,
      askedAt: formatTime(now),
      agents: entries,
      next,
    }),
  };
  return await describeRemoved(hub.store.db, answer, [at, knownAt]);
};

const runningOf = async (
  { store }: Pick<Hub, 'store'>,
  releases: Releases,
  { agent, channel, assignments }: AgentAt,
  at: Timestamp,
): Promise<readonly Running[]> => {
  const running: Running[] = [];
  for (const { assignment, values } of assignments) {
    const { health, drift } = values;
    const since: Lasting | undefined = values.package;
    if (!since || !isDigest(since.value)) continue;
    running.push({
      assignment,
      ...(await namePackage(releases, channel, assignment, since.value)),
      since: since.since,
      forSeconds: Math.max(0, (parseTime(at).getTime() - parseTime(since.since).getTime()) / 1000),
      health: health?.value ?? null,
      drift: drift?.value ?? null,
      ...defined({ values: await lastValues(store.db, agent, { assignment, since, last: values.values }) }),
    });
  }
  return running;
};

const describeRunning = ({ assignment, name, forSeconds, health, drift, values }: Running): string => {
  const [word = '-', code] = health?.split(' sha256:')[0]?.split(' ') ?? [];
  const state = [code === undefined ? word : `${word} ${code}`, ...(drift === 'drifted' ? ['drifted'] : [])];
  const changed = values
    ? `, ${values.changed.map(formatChangedValue).join(', ')} since ${values.since}`
    : '';
  return `${assignment}  ${name}  for ${formatSpan(forSeconds * 1000)}, ${state.join(', ')}${changed}`;
};

type Words = {
  readonly heardAt: Timestamp | null;
  readonly saidAt: Timestamp | null;
  readonly reboot: RebootRequired | null;
};

/** When each agent was last heard, the time that its words describe, and the reboot that its host needs now. */
const readWords = async (
  { store }: Pick<Hub, 'store'>,
  agents: readonly AgentAt[],
): Promise<ReadonlyMap<string, Words>> => {
  if (agents.length === 0) return new Map();
  const first = agents[0]?.agent ?? '';
  const last = agents.at(-1)?.agent ?? '';
  const rows = await store.db
    .selectFrom('agent')
    .select(['id', 'heard_at', 'said_at', 'reboot'])
    .where('id', '>=', first)
    .where('id', '<=', last)
    .execute();
  return new Map(
    rows.map(({ id, heard_at: heardAt, said_at: saidAt, reboot }) => [
      id,
      { heardAt, saidAt, reboot: reboot === null ? null : (parseJson(reboot) as RebootState).required },
    ]),
  );
};
