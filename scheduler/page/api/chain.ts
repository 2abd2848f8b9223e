import type { LinkState } from '#bundles/schemas/types/hub-decisions';

/** Links in the order of the chain, from the first environment. */
export const inChainOrder = (links: readonly LinkState[]): readonly LinkState[] => {
  const place = ({ from }: LinkState): number => {
    const before = links.find(({ to }) => to === from);
    return before === undefined ? 0 : place(before) + 1;
  };
  return links.toSorted((a, b) => place(a) - place(b));
};
