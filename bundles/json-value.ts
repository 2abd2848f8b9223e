/**
 * A value of our documents. Only content that teams write has fractions: the schemas of site inputs and composed configuration. All
 * other numbers are integers, so that every language writes the same bytes without care.
 */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };
