import type { FastifyRequest } from 'fastify';
import type { DocumentName } from '#bundles/json/validate';
import type { Documents } from '#bundles/schemas/documents';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import type { Promotion } from '../../../model/promotion.ts';
import type { DecisionRequest } from '../../promote/decide/chain.ts';
import type { OpenChanges } from '../../promote/facts/read-changes.ts';
import type { ReadCommit } from '../../promote/gate/describe-candidate.ts';
import type { Verb } from '../../sites/tokens/allowance.ts';
import type { Context } from '../context.ts';

export type DecisionOptions = {
  /** Read for each request: officers may install a new root while the hub runs. */
  readonly readKeys: () => Promise<KeyDirectory>;
  /** The chain and its policies. @param fresh false: a result of the last seconds may be returned */
  readonly readPromotion: (fresh: boolean) => Promise<Promotion>;
  /** Changes that a candidate would make, for approvers of workspaces. */
  readonly openChanges?: OpenChanges;
  /** Author, time and title of commits, for the candidates of the gates. */
  readonly readCommit?: ReadCommit;
  /** Wakes the loop to build after a decision. May be called at any time. */
  readonly wake: () => void;
  /** Aborts when the hub stops. */
  readonly signal: AbortSignal;
};

/** Inputs of a decision route. */
export type Asked<Body> = {
  readonly decision: DecisionRequest;
  readonly body: Body;
  readonly request: FastifyRequest;
};

export type DecisionRoute<Name extends DocumentName> = {
  readonly verb: Verb;
  /** Of the body. */
  readonly schema: Name;
  readonly maxBytes?: number;
  /** As in Access. */
  readonly byAssignment?: boolean;
  readonly byWorkspace?: Verb;
};

/** Adds routes below the path of an environment. */
export type DecisionServer = {
  readonly context: Context;
  readonly options: DecisionOptions;
  /** @param byWorkspace as in Access */
  readonly read: (
    path: string,
    answer: (request: FastifyRequest) => Promise<object>,
    byWorkspace?: Verb,
  ) => void;
  readonly decide: <Name extends DocumentName>(
    path: string,
    order: DecisionRoute<Name>,
    work: (asked: Asked<Documents[Name]>) => Promise<object>,
  ) => void;
};
