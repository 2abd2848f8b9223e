import type { Verb } from '../../sites/tokens/allowance.ts';

/** Access rule of a route. Each route declares it in its `config`, and only `enforceAccess` enforces it. */
export type Access =
  /** Nothing is needed: it shows nothing of the fleet, or begins a sign-in. */
  | { readonly for: 'anyone' }
  /** The route judges a proof of its own: a client certificate, a signature, or a token in the body. */
  | { readonly for: 'own proof' }
  /** Any token or session. */
  | { readonly for: 'signed in' }
  /** Callers that may read something; the route limits its answer to that (`visibleTo`). */
  | { readonly for: 'readers' }
  /** Callers that may read everything, because the answer cannot be limited. */
  | { readonly for: 'readers of everything' }
  /** Callers that may see or change values of some sites, or read something; the route judges about which ones (values-access.ts). */
  | { readonly for: 'values' }
  /** Callers that may use this verb in some environment; the route judges about which ones (`checkAllowed`). */
  | {
      readonly for: 'verb';
      readonly verb: Verb;
      /** Admits also callers that may use it for a workspace; the route judges about which ones. */
      readonly byWorkspace?: boolean;
    }
  /** Callers that may decide with this verb about the environment in the path; without one those that may read about it. */
  | {
      readonly for: 'environment';
      readonly verb?: Verb;
      /**
       * The decision may be about one assignment, which the body names and the channel in the path has: then also callers that may
       * decide with this verb about its workspace.
       */
      readonly byAssignment?: boolean;
      /**
       * Admits also callers that may use this verb for workspaces of the environment. The route limits what it answers, and judges the
       * decision (`limitsOf`).
       */
      readonly byWorkspace?: Verb | undefined;
    };

export const ANYONE: Access = { for: 'anyone' };
export const OWN_PROOF: Access = { for: 'own proof' };
export const READERS: Access = { for: 'readers' };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}
