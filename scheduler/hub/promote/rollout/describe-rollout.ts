import type { NextStep, RolloutVerdict, StageVerdict } from './judge-rollout.ts';

/** The judgement of a rollout for people: one line for each stage, the agents that it waits for, and the next step. */
export const describeRollout = ({ stages, next }: RolloutVerdict): readonly string[] => [
  ...(stages.every(({ agents }) => agents === 0)
    ? ['no agents: its stages reach none that is enrolled']
    : stages.flatMap(describeStage)),
  `next: ${describeNext(next)}`,
];

const describeStage = (stage: StageVerdict): readonly string[] => {
  const { name, state, agents, complies, failed, excluded, startedAt, holding } = stage;
  const counts =
    agents === 0 ? 'no agents' : `${complies} of ${agents} comply, ${failed} failed, ${excluded} excluded`;
  return [
    `${name.padEnd(16)} ${state.padEnd(8)} ${counts}${startedAt === null ? '' : `, since ${startedAt}`}`,
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
