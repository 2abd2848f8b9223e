import { Loader, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { formatCount } from '#bundles/format-count';
import { type Compare, compare } from '#bundles/transport/hub/client';
import { refusedOr, Refusal, send } from '../../api/ask.ts';

const SHOWN = 12;

type Side = Compare['assignments'][number]['left'];

/** What a promotion would change, in a dialog: read when it opens, because it compares the releases of both environments. */
export const WhatMoves = ({ from, to }: { readonly from: string; readonly to: string }) => {
  const [answer, setAnswer] = useState<Compare | Refusal>();
  useEffect(() => {
    const gone = new AbortController();
    const asked = send(
      (options) => compare({ left: from, right: to, show: 'differing', limit: SHOWN }, options),
      {
        signal: gone.signal,
      },
    );
    refusedOr(asked).then(setAnswer, (error: unknown) => {
      if (!gone.signal.aborted) throw error;
    });
    return () => gone.abort();
  }, [from, to]);
  if (answer === undefined) return <Loader size="sm" aria-label="Reading what it would change" />;
  if (answer instanceof Refusal)
    return (
      <Text size="sm" mb="sm">
        What it would change cannot be read: {answer.message}
      </Text>
    );
  return (
    <section aria-label="What it would change" className="moves">
      <Text size="sm" fw={600}>
        {answer.assignments.length === 0
          ? `${to} has what ${from} has: nothing would change.`
          : `What would change in ${to}:`}
      </Text>
      <ul>
        {answer.assignments.map((one) => (
          <li key={`${one.clusterType} ${one.assignment}`}>
            <strong>{one.workload ?? one.assignment}</strong> on {one.clusterType}: {describe(one)}
          </li>
        ))}
      </ul>
      {answer.next !== null && <Text size="sm">and more: see Compare.</Text>}
      <Text size="sm" c="dimmed">
        By the newest release of each. The candidate may be an older one.
      </Text>
    </section>
  );
};

/** A version as people know it: its tag or chart, otherwise the commit or the digest. */
const nameOf = (side: Side): string =>
  side?.version?.version ?? side?.version?.commit?.slice(0, 8) ?? side?.name ?? 'nothing';

const describe = ({ outcome, left, right, values, objects }: Compare['assignments'][number]): string => {
  const agents = (side: Side): string => formatCount(side?.agents.all ?? 0, 'agent');
  switch (outcome) {
    case 'only left':
      return `new, ${nameOf(left)}`;
    case 'only right':
      return `removed from ${agents(right)}, where ${nameOf(right)} runs`;
    case 'version':
      return `${nameOf(right)} to ${nameOf(left)} at ${agents(right)}, ${formatCount(objects.length, 'object')} differ`;
    case 'configuration':
      return `configuration at ${agents(right)}, ${formatCount(values.length, 'value')}, ${formatCount(objects.length, 'object')}`;
    case 'same':
      return 'nothing';
  }
};
