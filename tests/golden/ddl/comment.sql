-- on a column
COMMENT ON COLUMN shop.orders.customer IS 'who; and why'
--> comment CUSTOMER 'who; and why'

-- on a column, without the schema
comment on column orders."Mixed Case" is 'it''s a day'
--> comment Mixed Case "it's a day"

-- on the table
comment on table shop.orders is 'what was ordered'
--> comment_table 'what was ordered'

-- a comment removed
comment on column orders.amount is ''
--> comment AMOUNT ''

-- on a column that is not captured
comment on column orders.nothing is 'virtual, or unused'
--> unchanged

-- on a view of the same owner
comment on table shop.orders_view is 'not ours'
--> unchanged

-- a comment that cannot be read
comment on table orders is nothing
--> unchanged
