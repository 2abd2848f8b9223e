import { defined } from '#bundles/defined';
import { formatTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import { record } from '../store/journal/boundary.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { type PackageRow, savePackage } from '../store/applied/packages.ts';
import type { PackageResult } from './package-result.ts';

/** Marks a package as held back, and reports it once for the same message. */
export const hold = (agent: Agent, row: PackageRow, message: string, code?: string): PackageResult => {
  const { assignment } = row;
  if (row.status !== 'skipped' || row.message !== message) {
    const ref = row.desired ?? row.current;
    record(agent, `hold ${assignment}`, () => {
      const since = formatTime(agent.edge.now());
      savePackage(agent.state, { ...row, status: 'skipped', code, message, since });
      appendEvent(agent, {
        type: 'package',
        assignment,
        package: ref?.package,
        siteValues: ref?.siteValues,
        release: ref?.release,
        outcome: 'skipped',
        code,
        message,
      });
    });
  }
  return defined({ assignment, outcome: 'skipped', code, message });
};
