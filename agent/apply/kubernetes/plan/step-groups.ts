/**
 * Numbers of the groups whose steps run together. Applications count from 0, all others are below -1, which apply-steps.ts keeps for
 * steps that are put off: no group of one kind of steps is one of another, however many ranks a package has.
 */
const STAGES = 100;

/** Applications of one rank and stage. */
export const groupOfApplication = (rank: number, stage: number): number => rank * STAGES + stage;

/** Objects that were refused, between applications and removals. */
export const REFUSED_GROUP = -2;

/** Removals of one rank and stage. */
export const groupOfRemoval = (rank: number, stage: number): number => -(STAGES + rank * STAGES + stage);
