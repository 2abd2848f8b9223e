import type { Row, Table } from '#cli/format-table';
import type { NextStep, RolloutVerdict, StageVerdict } from './judge-rollout.ts';

/** The judgement of a rollout for people: one line for each stage, the agents that it waits for, and the next step. */
export const describeRollout = ({ stages, next }: RolloutVerdict): Table => ({
  indent: 2,
  rows: [
    ...(stages.every(({ agents }) => agents === 0)
      ? ['no agents: no enrolled agent is in its stages']
      : stages.flatMap(describeStage)),
    `next: ${describeNext(next)}`,
  ],
});

const describeStage = (stage: StageVerdict): readonly Row[] => {
  const { name, state, agents, complies, failed, excluded, startedAt, holding } = stage;
  const counts =
    agents === 0 ? 'no agents' : `${complies} of ${agents} comply, ${failed} failed, ${excluded} excluded`;
  return [
    [name, state, `${counts}${startedAt === null ? '' : `, since ${startedAt}`}`],
    ...(state === 'running' ? holding.map((line) => `  waits for ${line}`) : []),
  ];
};

const describeNext = (next: NextStep): string => {
  switch (next.kind) {
    case 'advance':
      return `${next.stage} begins`;
    case 'complete':
      return 'complete';
    case 'wait':
      return `${next.why}${next.earliest === null ? '' : `; at the earliest ${next.earliest}`}`;
    case 'pause':
    case 'take-back':
      return `${next.kind}: ${next.why}`;
    case 'none':
      return next.why;
  }
};
