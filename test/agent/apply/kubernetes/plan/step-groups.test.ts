import { expect, it } from 'vitest';
import {
  groupOfApplication,
  groupOfRemoval,
  REFUSED_GROUP,
} from '../../../../../agent/apply/kubernetes/plan/step-groups.ts';

it('applications, refused objects, removals and steps that are put off share no group in a package of 40 ranks', () => {
  const places = Array.from({ length: 40 }, (_, rank) =>
    Array.from({ length: 30 }, (__, stage) => [rank, stage] as const),
  ).flat();
  const PUT_OFF = -1;
  const groups = [
    PUT_OFF,
    REFUSED_GROUP,
    ...places.map(([rank, stage]) => groupOfApplication(rank, stage)),
    ...places.map(([rank, stage]) => groupOfRemoval(rank, stage)),
  ];
  expect(new Set(groups).size).toBe(groups.length);
});
