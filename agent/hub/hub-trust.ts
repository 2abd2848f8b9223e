/** Whom the hub's certificate must chain to, and who we are to it. */
export type HubTrust = {
  /** PEM certificates of the fleet's authority; undefined trusts nobody and sends nothing: for what is verified by its hash. */
  readonly authorities: readonly string[] | undefined;
  readonly credential?: { readonly certificate: string; readonly key: string } | undefined;
};
