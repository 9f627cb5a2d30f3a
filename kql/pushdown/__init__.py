"""Predicate and projection pushdown: what a query needs of the files that it reads.

    checked query --> passing: conditions above, as far as rows below do not depend on others
                        |
                        +--> reads: stored columns          --> columns that are read
                        +--> bounds: intervals of times     --> files and row groups by zone maps
                        +--> needed_terms                   --> files and spans by token indexes
                        +--> prefilters                     --> rows, by a search in the text

All are conservative: without any of them the answer is the same.
"""
