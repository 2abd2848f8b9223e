/**
 * Numbers of the groups whose steps run together. Groups of applications count up from 0, those of refused objects and removals down from -2;
 * apply-steps.ts uses -1 for steps that are put off. So a group has steps of one kind only, however many ranks a package has.
 */
const STAGES = 100;

/** Applications of one rank and stage. */
export const groupOfApplication = (rank: number, stage: number): number => rank * STAGES + stage;

/** Objects that were refused, between applications and removals. */
export const REFUSED_GROUP = -2;

/** Removals of one rank and stage. */
export const groupOfRemoval = (rank: number, stage: number): number => -(STAGES + rank * STAGES + stage);
