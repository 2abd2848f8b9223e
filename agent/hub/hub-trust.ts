/** The authorities that the hub's certificate must chain to, and the agent's own credential. */
export type HubTrust = {
  /** PEM certificates; undefined disables verification, for requests without secrets whose answer is verified by digest. */
  readonly authorities: readonly string[] | undefined;
  readonly credential?: { readonly certificate: string; readonly key: string } | undefined;
};
