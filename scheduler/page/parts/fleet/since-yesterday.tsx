import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { formatCount } from '#bundles/format-count';
import type { Audit, Overview } from '#bundles/schemas/types/hub-decisions';
import { Age } from '../age.tsx';
import { describeEntry } from '../describe-entry.ts';

type Props = Pick<Overview, 'changed' | 'causes' | 'at'> & { readonly entries: Audit['entries'] };

/** What the last day brought: packages that changed, new problems, and decisions. */
export const SinceYesterday = ({ changed, causes, at, entries }: Props) => {
  const fresh = causes.reduce(
    (sum, { recent, kind }) => sum + (kind === 'failed' || kind === 'drifted' ? recent : 0),
    0,
  );
  const decided = entries.filter((entry) => entry.at >= changed.since);
  return (
    <ul className="plain">
      {changed.environments.map(({ environment, packages, sites }) => (
        <li key={environment}>
          {formatCount(packages, 'package')} changed at {formatCount(sites, 'site')} of{' '}
          <Anchor component={Link} to={`/workloads?environment=${encodeURIComponent(environment)}`}>
            {environment}
          </Anchor>
        </li>
      ))}
      {changed.environments.length === 0 && <li>No site reported another package.</li>}
      {fresh > 0 && (
        <li>
          {fresh} new {fresh === 1 ? 'failure or drift' : 'failures and drifts'}
        </li>
      )}
      {decided.map((entry) => (
        <li key={entry.number}>
          {entry.person ?? 'A rule'}: {describeEntry(entry)}
          {entry.environment !== null && ` (${entry.environment})`}
          <Text size="sm" c="dimmed" component="span">
            {' '}
            <Age at={entry.at} now={at} />
          </Text>
        </li>
      ))}
      <li>
        <Anchor component={Link} to="/audit">
          All decisions
        </Anchor>
      </li>
    </ul>
  );
};
