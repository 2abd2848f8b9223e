import { defined } from '#bundles/defined';
import type { Agent } from '../agent.ts';
import type { CheckResult } from '../../model/target.ts';
import type { PackageRef } from '../applied/package-ref.ts';
import type { PackageRow } from '../applied/packages.ts';
import { listed } from './changes.ts';
import { appendEvent } from './outbox.ts';

/** Appends one event if the outcome or the set of a package's checks has changed. */
export const recordChecks = (
  agent: Agent,
  row: PackageRow,
  ref: PackageRef,
  checks: readonly CheckResult[],
): void => {
  if (verdictOf(checks) === verdictOf(row.checks)) return;
  const count = (which: CheckResult['outcome']) => checks.filter(({ outcome }) => outcome === which).length;
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  // Failed checks come first, because a long list is cut at its end.
  const { shown, more } = listed(checks.toSorted((a, b) => rank(a) - rank(b)));
  appendEvent(agent, {
    type: 'check',
    assignment: ref.assignment,
    package: ref.package,
    siteValues: ref.siteValues,
    release: ref.release,
    ...(failed.length > 0 ? { outcome: 'failed' as const, code: 'CHECK_FAILED' } : {}),
    message:
      failed.length > 0
        ? describeFailedChecks(failed)
        : `${count('passed')} of ${checks.length} checks passed, ${count('skipped')} skipped`,
    detail: defined({ checks: shown, more: more > 0 ? more : undefined }),
  });
};

const rank = ({ outcome }: CheckResult): number => (outcome === 'failed' ? 0 : 1);

/** 'web: /usr/bin/check ended with 1; queue: ...' */
export const describeFailedChecks = (failed: readonly CheckResult[]): string =>
  failed.map(({ name, message }) => `${name}: ${message}`).join('; ');

const verdictOf = (checks: readonly CheckResult[]): string =>
  JSON.stringify(checks.map(({ name, outcome }) => [name, outcome]));
