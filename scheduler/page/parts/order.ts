/** An order of rows, by its value in `?sort=`. The first is the usual one. */
export type Order<T> = {
  readonly value: string;
  readonly label: string;
  readonly compare: (a: T, b: T) => number;
};

/** Sorts rows by the order that a query chooses. `order` is the value of that order; without orders it is empty, and the rows keep their order. */
export const sortRows = <T>(
  rows: readonly T[],
  orders: readonly Order<T>[],
  query: URLSearchParams,
): { readonly sorted: readonly T[]; readonly order: string } => {
  const order = orders.find(({ value }) => value === query.get('sort')) ?? orders[0];
  return order === undefined
    ? { sorted: rows, order: '' }
    : { sorted: rows.toSorted(order.compare), order: order.value };
};
