import type { ShouldRevalidateFunctionArgs } from 'react-router';
import { ASKED } from './asked.ts';

/** Whether a view is read again: not when only its choices, order or columns change. */
export const unlessFiltered = ({ currentUrl, nextUrl }: ShouldRevalidateFunctionArgs): boolean => {
  if (currentUrl.href === nextUrl.href || currentUrl.pathname !== nextUrl.pathname) return true;
  return [...ASKED, 'cursor'].some(
    (name) => currentUrl.searchParams.get(name) !== nextUrl.searchParams.get(name),
  );
};
