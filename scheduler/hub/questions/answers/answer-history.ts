import { defined } from '#bundles/defined';
import { hexOf } from '#bundles/digest';
import { type ChangedValue, formatChangedValue } from '#bundles/formats/author-schema/changed-values';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { paragraph, type Printed } from '#cli/format-table';
import type { Hub } from '../../hub.ts';
import { seesWhole } from '../../people/visible.ts';
import { formatSpan } from '../status/format-age.ts';
import { beginning, describeRemoved } from '../history/describe-removed.ts';
import { valuesBetween } from '../history/changed-values.ts';
import { nameValue } from '../history/name-value.ts';
import type { Question } from '../history/parse-question.ts';
import { type Change, readChanges } from '../history/read-changes.ts';
import { openReleases, type PastRelease } from '../history/read-releases.ts';

/** An answer for people and for programs. */
export type Answer = { readonly lines: readonly Printed[]; readonly json: object };

type Entry =
  | { readonly at: Timestamp; readonly kind: 'release'; readonly release: PastRelease }
  | { readonly at: Timestamp; readonly kind: 'change'; readonly change: NamedChange };

/** 'line 7, gate none' */
const nameValues = (values: readonly ChangedValue[], side: 'old' | 'new'): string =>
  values.map(({ name, [side]: text = 'none' }) => `${name} ${text}`).join(', ');

type NamedChange = Change & { readonly fromName: string; readonly toName: string };

/** Changes at the sites and releases of their channels, newest first. */
export const answerHistory = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { subject, span, page }: Pick<Question, 'subject' | 'span' | 'page'>,
  now: Date,
): Promise<Answer> => {
  const { changes, next, upTo, after } = await readChanges(hub.store.db, subject, span, page);
  const releases = await openReleases(hub);
  const named: NamedChange[] = [];
  for (const change of changes) {
    const values =
      change.field === 'values'
        ? (change.values ?? (await valuesBetween(hub.store.db, change.agent, change)))
        : undefined;
    // The document changed, and the package takes none of what changed in it.
    if (values?.length === 0) continue;
    named.push({
      ...change,
      ...defined({ values }),
      fromName: values ? nameValues(values, 'old') : await nameValue(releases, change, change.from),
      toName: values ? nameValues(values, 'new') : await nameValue(releases, change, change.to),
    });
  }
  const issued: PastRelease[] = [];
  if (subject.site === undefined && subject.agent === undefined && subject.assignments === undefined) {
    for (const channel of releases.channels()) {
      const { environment } = channel;
      if ((subject.environment ?? environment) === environment && seesWhole(subject.visible, environment))
        issued.push(...(await releases.of(channel)));
    }
  }
  // Of a page its own part of the time, so that each release is on one page.
  const shown = issued.filter(
    ({ issuedAt }) =>
      (upTo === undefined || issuedAt <= upTo) &&
      (after === undefined || issuedAt > after) &&
      issuedAt >= (span.since ?? '') &&
      (span.until === undefined || issuedAt <= span.until) &&
      (span.knownAt === undefined || issuedAt <= span.knownAt),
  );
  const entries: readonly Entry[] = [
    ...shown.map((release) => ({ at: release.issuedAt, kind: 'release', release }) as const),
    ...named.map((change) => ({ at: change.observedAt, kind: 'change', change }) as const),
  ].toSorted((a, b) => {
    if (a.at < b.at) return 1;
    return a.at > b.at ? -1 : 0;
  });
  const answer = {
    lines:
      entries.length === 0
        ? ['Nothing changed.']
        : [...describeEntries(entries), ...(next === null ? [] : ['', `More: --cursor ${next}`])],
    json: defined({
      fleet: hub.store.fleet,
      at: formatTime(now),
      knownAt: span.knownAt,
      releases: shown.map(({ packages: _, ...release }) => release),
      changes: named,
      next,
    }),
  };
  return await describeRemoved(hub.store.db, answer, [
    span.since ?? beginning(next),
    span.until,
    span.knownAt,
  ]);
};

/** One line with time and place for all that changed there at that time, and a line for each change. */
const describeEntries = (entries: readonly Entry[]): readonly Printed[] => {
  let head = '';
  return entries.flatMap((entry) => {
    const title = titleOf(entry);
    const lines = title === head ? [] : [paragraph(title)];
    head = title;
    return [...lines, ...detailsOf(entry)];
  });
};

const titleOf = (entry: Entry): string => {
  switch (entry.kind) {
    case 'release':
      return `${entry.at}  ${entry.release.channel} release ${entry.release.version}${entry.release.current ? ', current' : ''}`;
    case 'change': {
      const { agent, assignment } = entry.change;
      return `${entry.at}  ${agent}${assignment === null ? '' : ` ${assignment}`}`;
    }
  }
};

const detailsOf = (entry: Entry): readonly Printed[] => {
  switch (entry.kind) {
    case 'release':
      return releaseDetails(entry.release).map((line) => paragraph(line, 4));
    case 'change': {
      const { field, fromName, toName, values, message, observedAt, receivedAt } = entry.change;
      const late = parseTime(receivedAt).getTime() - parseTime(observedAt).getTime();
      const delay = late >= MIN_SHOWN_MS ? `, known ${formatSpan(late)} later` : '';
      return [
        paragraph(
          `${field} ${values ? values.map(formatChangedValue).join(', ') : `${fromName} -> ${toName}`}${delay}`,
          4,
        ),
        ...(message === null || field === 'values' || field === 'package'
          ? []
          : [paragraph(message.replaceAll(/\s+/g, ' '), 6)]),
      ];
    }
  }
};

/** Least time between a change and its report that is shown. */
const MIN_SHOWN_MS = 3_600_000;

const releaseDetails = ({ candidate, shared, promoted, revoked }: PastRelease): readonly string[] => [
  ...(candidate === null ? [] : [`candidate ${hexOf(candidate).slice(0, 12)}`]),
  ...(promoted === null
    ? []
    : [
        promoted === shared
          ? `promoted: ${hexOf(promoted).slice(0, 12)}`
          : `promoted: ${hexOf(promoted).slice(0, 12)}, built from ${shared === null ? 'another' : hexOf(shared).slice(0, 12)}`,
      ]),
  ...(revoked === null ? [] : [`revoked ${revoked}`]),
];
