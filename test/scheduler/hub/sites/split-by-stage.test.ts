import { expect, test } from 'vitest';
import type { LocalAnswer, ValueChange } from '../../../../scheduler/hub/sites/set-values.ts';
import { splitByStage } from '../../../../scheduler/hub/sites/split-by-stage.ts';

const answerTo = (name: string): ValueChange => {
  const answer: LocalAnswer = {
    agent: 'press-1',
    name,
    edit: `sha256:${'0'.repeat(64)}`,
    outcome: 'refused',
    person: 'otto',
    reason: 'the line stays',
  };
  return { site: 'plant-7', set: {}, unset: [], answers: [answer] };
};

test('answers to several local values of one site are all given', () => {
  const facts = {
    fleet: 'acme',
    policies: new Map(),
    pins: new Set<string>(),
    rows: new Map(),
    agents: new Map(),
  };
  const { atOnce } = splitByStage([answerTo('line'), answerTo('gate')], facts);
  expect(atOnce.flatMap(({ answers = [] }) => answers.map(({ name }) => name))).toEqual(['line', 'gate']);
});
